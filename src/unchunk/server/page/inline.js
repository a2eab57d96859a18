// What stands in a block of Markdown: emphasis, code, links, citations. Links lead to http, https
// and mailto alone, and a picture is a link. A mark that stands for a citation is a number between
// two characters that no text has.

export const CITE = "\ufdd0";
export const CITED = "\ufdd1";

const MOST_OPEN = 32;
const LONGEST_RUN = 3;
// What is longer than this was hardly meant to be emphasised by a single sign.
const SHORT = 200;

/** What was ours in the text of somebody else is not ours. */
export function plain(text) {
  return text.replace(/[\ufdd0\ufdd1]/g, "\ufffd");
}

const SPECIAL = /[\\`*_~[\]<\n\ufdd0]|!\[|https?:\/\//gi;
const MARK = /\ufdd0(\d+)\ufdd1/y;
const TARGET = /\(\s{0,9}<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s{1,9}(?:"[^"\n]*"|'[^'\n]*'))?\s{0,9}\)/y;
const BARE = /https?:\/\/[^\s<>"`|\\[\]{}\ufdd0\ufdd1]{1,2000}/iy;
const ANGLED = /<((?:https?:\/\/|mailto:)[^\s<>\ufdd0]{1,2000})>/iy;
const WORD = /[\p{L}\p{N}_]/u;

/** The text of one block as a list of strings and nodes. */
export function inline(given, open) {
  // Several citations in one pair of brackets need the brackets no more.
  const text = given.replace(/\[((?:\ufdd0\d+\ufdd1[ ,;&]*)+)\]/g, (_, marks) => marks.replace(/[ ,;&]/g, ""));
  const line = { text, open, out: [], openers: [], ticks: ticksOf(text) };
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(text);
    if (!found) break;
    if (found.index > at) line.out.push(text.slice(at, found.index));
    at = special(line, found.index, found[0]);
  }
  if (at < text.length) line.out.push(text.slice(at));
  if (open) closeAll(line);
  return joined(line.out);
}

/** Read what stands at `at` and begins with `sign`; the place behind it. */
function special(line, at, sign) {
  const { text, out } = line;
  if ("*_~".includes(sign)) return delimiter(line, at, sign);
  if (sign === "`") return code(line, at);
  if (sign === "[" || sign === "![") return bracket(line, at, sign);
  if (sign === "]") return link(line, at);
  if (sign === "\\") return escape(line, at);
  if (sign === "\n") {
    const last = out.at(-1);
    const isHard = typeof last === "string" && last.endsWith("  ");
    out.push(isHard ? { tag: "br", children: [] } : "\n");
    return at + 1;
  }
  const [pattern, cut] = sign === CITE ? [MARK] : sign === "<" ? [ANGLED] : [BARE, untrailed];
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  if (sign === CITE && found) out.push({ tag: "cite", mark: Number(found[1]), children: [] });
  else if (found) {
    const address = cut ? cut(found[0]) : found[1];
    out.push(isSafe(address) ? { tag: "a", href: address, children: [address] } : address);
    return cut ? at + address.length : at + found[0].length;
  } else out.push(sign);
  return at + (found ? found[0].length : sign.length);
}

function escape({ text, out }, at) {
  const next = text[at + 1] ?? "";
  if (next === "\n") out.push({ tag: "br", children: [] });
  else if (/[!-/:-@[-`{-~]/.test(next)) out.push(next);
  else {
    out.push("\\");
    return at + 1;
  }
  return at + 2;
}

function runLength(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** Where runs of backticks begin, by their length, the last first: each is looked at once. */
function ticksOf(text) {
  const found = new Map();
  for (const run of text.matchAll(/`+/g)) {
    const length = run[0].length;
    if (!found.has(length)) found.set(length, []);
    found.get(length).push(run.index);
  }
  for (const places of found.values()) places.reverse();
  return found;
}

function code({ text, out, ticks, open }, at) {
  const length = runLength(text, at);
  const places = ticks.get(length) ?? [];
  while (places.length && places.at(-1) <= at) places.pop();
  const from = at + length;
  const end = places.at(-1) ?? (open && length < 3 ? text.length : -1);
  if (end < 0) {
    out.push(text.slice(at, from));
    return from;
  }
  const inside = text.slice(from, end).replace(/\n/g, " ");
  const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
  if (inside) out.push({ tag: "code", children: withCitations(isPadded ? inside.slice(1, -1) : inside) });
  return end + length;
}

function opened(line, sign, count) {
  line.openers.push({ sign, count, index: line.out.length });
  line.out.push(sign.repeat(count));
  // What was opened long before and is open still is text.
  if (line.openers.length > MOST_OPEN) line.openers.shift();
}

function delimiter(line, at, sign) {
  const { text } = line;
  const count = runLength(text, at);
  const before = text[at - 1] ?? " ";
  const after = text[at + count] ?? " ";
  const isWord = sign === "_";
  let opens = !/\s/.test(after) && !(isWord && WORD.test(before));
  let closes = !/\s/.test(before) && !(isWord && WORD.test(after));
  if (count > LONGEST_RUN || (sign === "~" && count !== 2)) opens = closes = false;
  const left = closes ? close(line, sign, count) : count;
  if (left && opens) opened(line, sign, left);
  else if (left && !(line.open && at + count === text.length)) line.out.push(sign.repeat(left));
  return at + count;
}

/** Close what a run of delimiters closes; how many of them are left. */
function close(line, sign, count) {
  const { openers } = line;
  let left = count;
  for (let at = openers.length - 1; at >= 0 && left; at -= 1) {
    const opener = openers[at];
    // `**` is not closed by `*`, nor the other way round.
    if (opener.sign !== sign || (opener.count !== left && opener.count + left === 3)) continue;
    while (left && opener.count) {
      const used = Math.min(2, left, opener.count);
      wrap(line, opener, used);
      left -= used;
    }
    openers.length = opener.count ? at + 1 : at;
  }
  return left;
}

function wrap({ out }, opener, used) {
  const children = joined(out.splice(opener.index + 1));
  const tag = opener.sign === "~" ? "del" : used === 2 ? "strong" : "em";
  opener.count -= used;
  out[opener.index] = opener.sign.repeat(opener.count);
  if (children.length) out.push({ tag, children });
}

/** At the end of a text that grows: what is open there will be closed, most likely. */
function closeAll(line) {
  for (const opener of line.openers.splice(0).reverse()) {
    if (opener.sign === "[" || opener.sign === "![") continue;
    const behind = line.out.slice(opener.index + 1);
    const isShort = behind.every((one) => typeof one !== "string" || one.length < SHORT);
    while (opener.count && (isShort || opener.count > 1)) wrap(line, opener, Math.min(2, opener.count));
  }
}

function bracket(line, at, sign) {
  opened(line, sign, 1);
  return at + sign.length;
}

function link(line, at) {
  const { text, out, openers } = line;
  const place = openers.findLastIndex(({ sign }) => sign.endsWith("["));
  const opener = openers[place];
  TARGET.lastIndex = at + 1;
  const found = opener && text[at + 1] === "(" ? TARGET.exec(text) : null;
  if (opener) openers.length = place;
  if (opener && line.open && /^\([^\s()]*$/.test(text.slice(at + 1))) {
    // Its address is on its way.
    out[opener.index] = "";
    return text.length;
  }
  if (!found || !isSafe(found[1])) {
    out.push("]");
    return at + 1;
  }
  const children = joined(out.splice(opener.index + 1)).flatMap((one) => (one.tag === "a" ? one.children : [one]));
  out[opener.index] = "";
  out.push({ tag: "a", href: found[1], children: children.length ? children : [found[1]] });
  return at + 1 + found[0].length;
}

/** An address in a sentence, without what ends the sentence. */
function untrailed(address) {
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    if (last === ")" && address.slice(0, end).split("(").length >= address.slice(0, end).split(")").length) break;
    if (!/[.,;:!?)'"*_~’”»]/.test(last)) break;
  }
  return address.slice(0, end);
}

function isSafe(address) {
  if (!/^(?:https?:\/\/|mailto:)[^\s\u0000-\u001f\ufdd0]+$/i.test(address)) return false;
  return URL.canParse(address);
}

export function withCitations(text) {
  const found = [];
  let at = 0;
  for (const mark of text.matchAll(/\ufdd0(\d+)\ufdd1/g)) {
    found.push(text.slice(at, mark.index), { tag: "cite", mark: Number(mark[1]), children: [] });
    at = mark.index + mark[0].length;
  }
  return joined([...found, text.slice(at)]);
}

/** Neighbouring strings as one, and none that is empty: a string is a text node. */
function joined(nodes) {
  const found = [];
  let text = [];
  const end = () => {
    const whole = text.join("");
    if (whole) found.push(whole);
    text = [];
  };
  for (const node of nodes) {
    if (typeof node === "string") text.push(node);
    else {
      end();
      found.push(node);
    }
  }
  end();
  return found;
}
