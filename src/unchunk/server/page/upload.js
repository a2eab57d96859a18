// Files and folders that are dropped or chosen, and the list of those on their way in.

import { announce, fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { isOver, shareOf, stageOf } from "./jobs.js";
import * as transfer from "./transfer.js";
import { many, number, sentence, size } from "./words.js";

const MOST_ROWS = 30;
// What systems leave lying about, and what an office program has open.
const LITTER = /^(\.|~\$|thumbs\.db$|desktop\.ini$)/i;
const ORDER = { failed: 0, sending: 1, indexing: 2, queued: 3, done: 4 };
const RESULTS = { added: "Added", replaced: "Replaced", linked: "Already there under another name", unchanged: "Already there", waiting: "Kept, goes on by itself" };
const HELD = {
  "signed-out": "Sign in again, and it goes on.",
  offline: "There is no network. It goes on when it is back.",
  unreachable: "The server does not answer. Trying again.",
  busy: "The server has a lot to do. It goes on in a moment.",
};

/** Take what was gathered, and say what was not. */
export function begin(files, notify) {
  const wanted = files.filter(({ file }) => !LITTER.test(file.name));
  const litter = files.length - wanted.length;
  if (wanted.length) {
    transfer.add(wanted);
    announce(`Adding ${many(wanted.length, "file")}`);
  }
  if (litter) notify(`${many(litter, "hidden file")} left out.`);
  else if (!files.length) notify("There was no file in what was dropped.");
}

/** A button that asks for files, or for a whole folder. */
export function picker(label, { folder, isFolder, primary, notify }) {
  const input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": label, ...(isFolder ? { webkitdirectory: true } : {}) });
  input.addEventListener("change", () => {
    begin([...input.files].map((file) => ({ file, folder: joined(folder, parentOf(file.webkitRelativePath)) })), notify);
    // The same files may be chosen once more.
    input.value = "";
  });
  const button = h("button", { class: `button ${primary ? "primary" : ""}`, type: "button", on: { click: () => input.click() } }, icon(isFolder ? "folder" : "upload"), label);
  return [button, input];
}

/** The files of a drop, also those inside folders, each with the folder it goes to. */
export async function dropped(data, folder) {
  // All at once: after the first wait, the browser has taken the drop away.
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...data.files].map((file) => ({ file, folder }));
  const found = [];
  for (const entry of entries) await walk(entry, folder, found);
  return found;
}

async function walk(entry, folder, found) {
  if (entry.isFile) {
    const file = await new Promise((settle) => entry.file(settle, () => settle(null)));
    if (file) found.push({ file, folder });
    return;
  }
  if (LITTER.test(entry.name)) return;
  const reader = entry.createReader();
  for (;;) {
    // It tells of a hundred at a time, and of none when it is through.
    const some = await new Promise((settle) => reader.readEntries(settle, () => settle([])));
    if (!some.length) return;
    for (const one of some) await walk(one, joined(folder, entry.name), found);
  }
}

function parentOf(path) {
  return path.split("/").slice(0, -1).join("/");
}

function joined(...parts) {
  return parts.filter(Boolean).join("/");
}

/** The list of files on their way in; empty and hidden while there are none. Ends with `stop()`. */
export function tray() {
  const list = h("ul", { class: "tray-list" });
  const title = h("h2", {});
  const tally = h("p", { class: "muted small" });
  const meter = h("progress", { max: 1, "aria-label": "Files through" });
  const word = h("p", { class: "tray-held", role: "status" });
  const stopAll = h("button", { class: "button small", type: "button", on: { click: transfer.cancelAll } }, "Cancel the rest");
  const clear = h("button", { class: "button small", type: "button", on: { click: transfer.clearEnded } }, "Clear");
  const element = h(
    "section",
    { class: "card tray", "aria-label": "Files on their way in", hidden: true },
    h("div", { class: "tray-head" }, h("div", { class: "tray-words" }, title, tally), stopAll, clear),
    meter,
    word,
    list,
  );
  const rows = new Map();
  let isBusy = false;
  let frame = 0;
  let latest = { items: [], held: "" };

  function draw() {
    frame = 0;
    const { items, held } = latest;
    const count = counted(items);
    const running = count.queued + count.sending + count.indexing;
    element.hidden = !items.length;
    title.textContent = running ? `Adding ${many(items.length, "file")}` : count.failed ? `${many(count.failed, "file")} could not be added` : "All done";
    tally.textContent = tallied(items, count);
    meter.hidden = !running;
    meter.value = items.length ? items.reduce((sum, one) => sum + through(one), 0) / items.length : 0;
    word.textContent = HELD[held] ?? "";
    word.hidden = !held;
    stopAll.hidden = !(count.queued + count.sending);
    clear.hidden = running === items.length;
    // In the end only what failed is worth its place.
    drawRows(running ? items : items.filter((one) => one.state === "failed"));
    if (isBusy && !running && items.length) announce(tallied(items, count));
    isBusy = running > 0;
  }

  function drawRows(items) {
    const wanted = [...items].sort((a, b) => ORDER[a.state] - ORDER[b.state] || a.id - b.id).slice(0, MOST_ROWS);
    const kept = new Set(wanted.map((one) => one.id));
    for (const id of [...rows.keys()]) if (!kept.has(id)) rows.delete(id);
    const elements = wanted.map((item) => {
      const row = rows.get(item.id) ?? makeRow(item);
      rows.set(item.id, row);
      row.update();
      return row.element;
    });
    const more = items.length - wanted.length;
    if (more) elements.push(h("li", { class: "muted small" }, `and ${number(more)} more`));
    // Who is at a button in the list stays there.
    if (elements.some((one, at) => list.children[at] !== one) || list.childElementCount !== elements.length) fill(list, elements);
  }

  const stop = transfer.follow((told) => {
    latest = told;
    frame ||= requestAnimationFrame(draw);
  });
  return {
    element,
    stop() {
      cancelAnimationFrame(frame);
      stop();
    },
  };
}

function counted(items) {
  const count = { queued: 0, sending: 0, indexing: 0, done: 0, failed: 0 };
  for (const one of items) count[one.state] += 1;
  return count;
}

/** "2 being sent · 3 added · 1 already there" */
function tallied(items, count) {
  const done = {};
  for (const { state, result } of items) if (state === "done") done[result] = (done[result] ?? 0) + 1;
  return [
    [count.sending, "being sent"],
    [count.indexing, "being indexed"],
    [count.queued, "waiting"],
    ...Object.entries(done).map(([result, some]) => [some, (RESULTS[result] ?? "Added").toLowerCase()]),
    [count.failed, "failed"],
  ]
    .filter(([some]) => some)
    .map(([some, word]) => `${number(some)} ${word}`)
    .join(" · ");
}

/** Sending is the first half, indexing the second. */
function through(item) {
  if (item.state === "done" || item.state === "failed") return 1;
  if (item.state === "indexing") return 0.5 + (shareOf(item.job ?? {}) ?? 0) / 2;
  return item.sent / 2;
}

function makeRow(item) {
  const state = h("span", { class: "tray-state" });
  const meter = h("progress", { max: 1, "aria-label": `Progress of ${item.name}` });
  const buttons = h("span", { class: "tray-buttons" });
  const words = h("span", { class: "tray-name" }, h("span", { class: "clip", title: item.name }, item.name), h("span", { class: "muted small clip" }, item.folder ? `${item.folder} · ${size(item.size)}` : size(item.size)));
  const element = h("li", {}, icon("file"), words, h("span", { class: "tray-progress" }, state, meter), buttons);
  let before = "";
  return {
    element,
    update() {
      element.dataset.state = item.state;
      state.textContent = stateOf(item);
      const share = item.state === "sending" ? item.sent : shareOf(item.job ?? {});
      meter.hidden = item.state !== "sending" && !(item.state === "indexing" && item.job?.state === "running");
      if (share === null || (item.state === "sending" && !share)) meter.removeAttribute("value");
      else meter.value = share;
      if (before !== item.state) fill(buttons, buttonFor(item));
      before = item.state;
    },
  };
}

function stateOf(item) {
  if (item.state === "queued") return "Waiting";
  if (item.state === "sending") return item.sent ? `Sending, ${Math.floor(item.sent * 100)} %` : "Sending";
  if (item.state === "failed") return sentence(item.error);
  if (item.state === "done") return RESULTS[item.result] ?? "Added";
  return item.job && !isOver(item.job) ? stageOf(item.job) : "Indexing";
}

function buttonFor(item) {
  if (item.state === "failed") {
    return h("button", { class: "button small", type: "button", "aria-label": `Try ${item.name} again`, on: { click: () => transfer.again(item) } }, "Retry");
  }
  if (item.state === "queued" || item.state === "sending") {
    const label = `Cancel ${item.name}`;
    return h("button", { class: "icon-button", type: "button", title: label, "aria-label": label, on: { click: () => transfer.cancel(item) } }, icon("close"));
  }
  return item.state === "done" && icon("check");
}

/** Whatever is dropped anywhere on the page goes to the folder that is looked at; ends with the result. */
export function takeDrops(folder, notify) {
  const shade = h("div", { class: "drop-shade", hidden: true }, h("p", {}, icon("upload"), folder ? `Drop to add to ${folder}` : "Drop files and folders to add them"));
  document.body.append(shade);
  const listeners = {
    dragover(event) {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      shade.hidden = false;
    },
    dragleave(event) {
      // Only out of the window; between its elements it happens all the time.
      if (!event.relatedTarget) shade.hidden = true;
    },
    async drop(event) {
      shade.hidden = true;
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      begin(await dropped(event.dataTransfer, folder), notify);
    },
  };
  for (const [name, listener] of Object.entries(listeners)) document.addEventListener(name, listener);
  return () => {
    shade.remove();
    for (const [name, listener] of Object.entries(listeners)) document.removeEventListener(name, listener);
  };
}
