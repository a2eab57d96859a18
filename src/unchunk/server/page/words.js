// Numbers, sizes and times, as people read them.

import { h } from "./dom.js";

const NUMBER = new Intl.NumberFormat();
const UNITS = ["B", "kB", "MB", "GB", "TB"];
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "short" });

export function number(value) {
  return NUMBER.format(value);
}

/** "1 page", "2,400 pages". */
export function many(value, one, more = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : more}`;
}

/** The server's reasons begin small, for they follow a name elsewhere; an address stays one. */
export function sentence(words) {
  return words.replace(/^[a-z](?=[a-z']*([ ,]|$))/, (letter) => letter.toUpperCase());
}

/** Of a folder deep down, the end tells more than the beginning. */
export function shortPath(folder, most = 20) {
  return folder.length > most && folder.includes("/") ? `…/${folder.slice(folder.lastIndexOf("/") + 1)}` : folder;
}

export function size(bytes) {
  let value = bytes;
  let at = 0;
  while (value >= 999.5 && at < UNITS.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${new Intl.NumberFormat(undefined, { maximumFractionDigits: at && value < 10 ? 1 : 0 }).format(value)} ${UNITS[at]}`;
}

/** The shortest that is clear today; all of it to who asks. */
export function moment(iso) {
  const then = new Date(iso);
  if (Number.isNaN(then.getTime())) return "";
  const now = new Date();
  const form = then.toDateString() === now.toDateString() ? TIME : then.getFullYear() === now.getFullYear() ? DAY : DATE;
  return h("time", { dateTime: iso, title: FULL.format(then) }, form.format(then));
}

/** "3 days", "4 hours", "less than a minute". */
export function duration(seconds) {
  for (const [unit, length] of [["day", 86_400], ["hour", 3_600], ["minute", 60]]) {
    if (seconds >= length) return many(Math.floor(seconds / length), unit);
  }
  return "less than a minute";
}
