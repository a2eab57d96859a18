// The Sources panel: what an answer was written from, what was left out of it, and what else to see.

import { call } from "./api.js";
import { chunkWords, headingWords, isForBrowser, pageWords, readHash } from "./citation.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { many } from "./words.js";

const KINDS = { passages: "passages", "full document": "whole document", excerpt: "excerpt" };
const SHORT = 420;
const LONG = 6000;
const SCORES = 6;
const CHUNKS_AT_ONCE = 10;
const MOST_INCLUDED = 200;

/**
 * `found` is what the `sources` event tells. `acts`: `read(document, places, gap)` opens the reader;
 * `include(stretches, name)`, if there is a question to ask again, asks it with those chunks of the
 * document of that name; `numbersOf(document)` are its numbers in an answer that `isOver`.
 */
export function sourcesList(found, acts) {
  const { sources = [], also_see: also = [], omitted = [] } = found ?? {};
  const most = Math.max(1, ...sources.filter((one) => one.found_by !== "words").map((one) => one.max_score));
  return h(
    "div",
    { class: "sources" },
    sources.length === 0 && h("p", { class: "muted" }, "No document was used for this answer."),
    sources.map((one) => sourceCard(one, most, acts)),
    omitted.length > 0 && listed("No room for", omitted, (one) => omission(one, acts)),
    also.length > 0 &&
      listed("Also see", also, (one) => [
        reading(one.name, one.document, [], acts),
        h("span", { class: "muted" }, one.reason),
      ]),
  );
}

function listed(title, all, show) {
  return h(
    "section",
    { class: "source-more" },
    h("h3", {}, title),
    h(
      "ul",
      {},
      all.map((one) => h("li", {}, show(one))),
    ),
  );
}

function omission({ document, name, chunks, reason }, acts) {
  const words = chunks.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
  const [first, last] = [chunks[0]?.[0], chunks.at(-1)?.[1]];
  const count = chunks.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  return [
    reading(name, document, [], acts),
    h("span", { class: "muted" }, `${count === 1 ? "chunk" : "chunks"} ${words}: ${reason}`),
    count > 0 && count <= MOST_INCLUDED && again(document, name, first, last, acts, chunks),
  ];
}

/** A name that opens the reader; with a modifier key, in a tab of its own. `gap` is a run of chunks. */
function reading(name, document, places, acts, gap = null) {
  const click = (event) => {
    if (isForBrowser(event)) return;
    event.preventDefault();
    acts.read(document, places, gap);
  };
  const href = readHash(document, places, gap ? { gap: `${gap.start}-${gap.end}` } : {});
  return h("a", { class: "source-name", href, on: { click } }, name);
}

function sourceCard(source, most, acts) {
  const { document, name, passages } = source;
  const where = [source.folder, source.pages && pageWords(...source.pages)];
  const isTold = source.title === name || source.heading_paths.some(([first]) => first === source.title);
  const about = [...where, !isTold && source.title].filter(Boolean).join(" · ");
  const state = h("p", { class: "notice warn small", hidden: true });
  const card = h(
    "section",
    { class: "card source", "aria-label": name },
    h(
      "h3",
      {},
      reading(name, document, passages, acts),
      h("span", { class: "badge" }, KINDS[source.kind] ?? source.kind),
    ),
    about && h("p", { class: "muted small" }, about),
    headings(source),
    coverage(source),
    scores(source, most),
    acts.numbersOf && h("p", { class: "cited-as small muted", "data-document": document }),
    state,
    passages.flatMap((one, at) => [gapBefore(source, at, acts), passage(source, one, acts)]),
    gapBehind(source, acts),
  );
  if (acts.isOver) showNumbers(card, acts.numbersOf);
  if (passages.some((one) => one.text === undefined)) checkStill(source, state);
  return card;
}

/** Under which numbers the answer cites each document; the line is there before the answer is. */
export function showNumbers(element, numbersOf) {
  for (const line of element.querySelectorAll(".cited-as")) {
    const numbers = numbersOf(line.dataset.document);
    const chips = numbers.map((one) => h("span", { class: "cite still" }, String(one)));
    fill(line, chips.length ? ["Cited as ", chips] : "Not cited in the answer");
  }
}

function headings({ heading_paths: paths }) {
  const words = paths.map(headingWords).filter(Boolean);
  if (words.length === 0) return null;
  const more = words.length > 3 ? ` and ${words.length - 3} more` : "";
  return h("p", { class: "small muted" }, "Under ", words.slice(0, 3).join("; "), more);
}

/** Which chunks of the document are there: a strip as long as the document. */
function coverage({ coverage: words, chunk_count: count, passages, chunks }) {
  const strip = h("div", { class: "strip", "aria-hidden": "true" });
  const part = (kind, first, last) => {
    const bar = h("span", { class: kind });
    bar.style.left = `${(100 * first) / count}%`;
    bar.style.width = `max(2px, ${(100 * (last + 1 - first)) / count}%)`;
    return bar;
  };
  if (count) {
    strip.append(...passages.map((one) => part("sent", one.first_chunk, one.last_chunk)));
    strip.append(...chunks.map((one) => part("found", one.chunk_index, one.chunk_index)));
  }
  return h("div", { class: "coverage" }, count ? strip : null, h("span", { class: "small muted" }, words));
}

function scores({ chunks }, most) {
  const best = [...chunks].sort((one, other) => other.score - one.score);
  const more = best.length - SCORES;
  return h(
    "dl",
    { class: "scores" },
    best
      .slice(0, SCORES)
      .flatMap(({ chunk_index: index, score, found_by: way }) => [
        h("dt", {}, chunkWords(index, index)),
        way === "words"
          ? h("dd", {}, h("span", { class: "muted" }, "found by words"))
          : h("dd", {}, bar(score / most), h("span", { class: "number" }, score.toFixed(2))),
      ]),
    more > 0 && h("dt", { class: "muted" }, `and ${more} more`),
  );
}

/** A share of a whole, drawn; whoever shows it says the number beside it. */
export function bar(share, kind = "") {
  const inside = h("span", { class: kind });
  inside.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span", { class: "meter", "aria-hidden": "true" }, inside);
}

function passage(source, one, acts) {
  const { document } = source;
  const place = [
    pageWords(one.first_page, one.last_page),
    headingWords(one.heading_path),
    chunkWords(one.first_chunk, one.last_chunk),
  ];
  const text = h("div", { class: "passage-text" });
  showText(text, document, one);
  return h(
    "div",
    { class: "passage" },
    h(
      "p",
      { class: "passage-head" },
      h("span", {}, place.filter(Boolean).join(" · ")),
      reading("Read", document, [one], acts),
    ),
    text,
  );
}

/** The beginning of a passage; the rest on request. What the record does not hold is fetched. */
async function showText(element, document, { start, end, text }) {
  let known = text;
  if (known === undefined) {
    fill(element, h("span", { class: "muted" }, "…"));
    try {
      known = (
        await call("GET", `/api/documents/${encodeURIComponent(document)}/text`, {
          query: { start, end: Math.min(end, start + LONG) },
        })
      ).text;
    } catch {
      fill(element);
      return;
    }
  }
  if (known.length <= SHORT * 1.3) {
    fill(element, known);
    return;
  }
  const short = known.slice(0, known.lastIndexOf(" ", SHORT) > SHORT / 2 ? known.lastIndexOf(" ", SHORT) : SHORT);
  const more = h("button", { class: "link small", type: "button", "aria-expanded": "false" }, "Show more");
  more.addEventListener("click", () => {
    const isOpen = more.getAttribute("aria-expanded") === "true";
    more.setAttribute("aria-expanded", String(!isOpen));
    more.textContent = isOpen ? "Show more" : "Show less";
    element.firstChild.data = isOpen ? `${short} … ` : `${known.slice(0, LONG)}${known.length > LONG ? " …" : ""} `;
  });
  fill(element, `${short} … `, more);
}

/** Of an old answer: whether its document is still there, and still the same. */
async function checkStill({ document, checksum }, state) {
  try {
    const now = await call("GET", `/api/documents/${encodeURIComponent(document)}`);
    if (!checksum || now.sha256 === checksum) return;
    state.textContent = "This document has changed since the answer was written.";
  } catch (error) {
    if (error.status !== 404) return;
    state.textContent = "This document is no longer in the library.";
  }
  state.hidden = false;
}

function gapBefore(source, at, acts) {
  const first = at === 0 ? 0 : source.passages[at - 1].last_chunk + 1;
  return gap(source, first, source.passages[at].first_chunk - 1, acts);
}

function gapBehind(source, acts) {
  const last = source.passages.at(-1)?.last_chunk;
  return last === undefined || !source.chunk_count ? null : gap(source, last + 1, source.chunk_count - 1, acts);
}

/** What was left out, to be opened in its place. */
function gap({ document, name }, first, last, acts) {
  if (last < first) return null;
  const inside = h("div", { class: "gap-chunks", hidden: true });
  const button = h(
    "button",
    { class: "gap-mark", type: "button", "aria-expanded": "false" },
    icon("right"),
    `${chunkWords(first, last)} omitted`,
  );
  button.addEventListener("click", () => {
    inside.hidden = !inside.hidden;
    button.setAttribute("aria-expanded", String(!inside.hidden));
    if (!inside.hidden && !inside.hasChildNodes()) openChunks(inside, { document, name, first, last }, acts);
  });
  return h("div", { class: "gap" }, button, inside);
}

async function openChunks(element, stretch, acts) {
  const { document, name, first, last } = stretch;
  const upTo = Math.min(last, first + CHUNKS_AT_ONCE - 1);
  const waiting = h("p", { class: "muted small" }, "Opening …");
  element.append(waiting);
  try {
    const { chunks } = await call("GET", `/api/documents/${encodeURIComponent(document)}/chunks`, {
      query: { first, last: upTo },
    });
    const isOnly = first === last;
    if (!isOnly && element.children.length === 1 && last - first < MOST_INCLUDED) {
      waiting.before(
        again(document, name, first, last, acts, [[first, last]], `Ask again with ${chunkWords(first, last)}`),
      );
    }
    waiting.before(...chunks.map((one) => chunkBlock(stretch, one, acts)));
    if (upTo < last) waiting.before(moreChunks(element, { ...stretch, first: upTo + 1 }, acts));
    waiting.remove();
  } catch (error) {
    waiting.textContent = error.status === 404 ? "The document is no longer there." : error.message;
  }
}

function moreChunks(element, stretch, acts) {
  const more = h(
    "button",
    { class: "link small", type: "button" },
    `Show more of ${many(stretch.last - stretch.first + 1, "chunk")}`,
  );
  more.addEventListener("click", () => {
    more.remove();
    openChunks(element, stretch, acts);
  });
  return more;
}

function chunkBlock({ document, name }, chunk, acts) {
  const { chunk_index: index } = chunk;
  const place = [
    chunkWords(index, index),
    pageWords(chunk.first_page, chunk.last_page),
    headingWords(chunk.heading_path),
  ];
  return h(
    "div",
    { class: "gap-chunk" },
    h(
      "p",
      { class: "passage-head" },
      h("span", {}, place.filter(Boolean).join(" · ")),
      reading("Read", document, [], acts, { start: index, end: index }),
    ),
    h("div", { class: "passage-text" }, chunk.text),
    again(document, name, index, index, acts),
  );
}

/** `runs` of chunks, both ends included, that the question is asked again with. */
function again(document, name, first, last, acts, runs = [[first, last]], words = "Ask again with this") {
  if (!acts.include) return null;
  const click = () =>
    acts.include(
      runs.map(([from, to]) => ({ document, first_chunk: from, last_chunk: to })),
      name,
    );
  const label = `Ask again with ${chunkWords(first, last)} of ${name}`;
  return h(
    "button",
    { class: "button small", type: "button", "aria-label": label, on: { click } },
    icon("refresh"),
    words,
  );
}
