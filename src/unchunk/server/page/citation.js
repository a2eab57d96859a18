// Where something stands in a document: in words, as an address in the reader, and as the small
// numbered chips of an answer. A chip that is pointed at shows a card with its place.

import { fill, h } from "./dom.js";
import { Points } from "./points.js";

const STATES = {
  cited: "Found by the search",
  context: "Sent along with what was found",
  unknown: "Nothing of the kind was sent to the model: do not rely on it.",
};
const LONGEST_QUOTE = 280;

/** "page 3", "pages 3–5", or nothing. */
export function pageWords(first, last = first) {
  if (!first) return "";
  return !last || first === last ? `page ${first}` : `pages ${first}–${last}`;
}

export function headingWords(path) {
  return (path ?? []).join(" › ");
}

/** "chunk 3", "chunks 3–5". */
export function chunkWords(first, last) {
  return first === last ? `chunk ${first}` : `chunks ${first}–${last}`;
}

/** The address of the reader with `places`, each `{start, end}`, highlighted. */
export function readHash(document, places = [], more = {}) {
  const query = new URLSearchParams();
  for (const { start, end } of places) query.append("range", `${start}-${end}`);
  for (const [name, value] of Object.entries(more)) if (value) query.set(name, value);
  return `#/read/${encodeURIComponent(document)}${query.size ? `?${query}` : ""}`;
}

/** Whether a click is for the browser: another tab, another window. */
export function isForBrowser(event) {
  return event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
}

/** What is shown of a citation, as `{name, place, state, quote}`; its text is in `sources`, maybe. */
function told(group, sources) {
  const known = group.filter((one) => one.state !== "unknown");
  const [first] = known;
  if (!first) return { name: group[0].text, place: "", state: STATES.unknown, quote: "" };
  const last = known.at(-1);
  const pages = pageWords(first.first_page, last.last_page ?? first.first_page);
  const source = sources.find((one) => one.document === first.document);
  const place = [source?.folder, pages, headingWords(first.heading_path)].filter(Boolean).join(" · ");
  const part = known.length < group.length ? " Part of what is cited here was not sent." : "";
  const isFound = known.some((one) => one.state === "cited");
  return {
    name: first.name,
    place,
    state: `${STATES[isFound ? "cited" : "context"]}.${part}`,
    quote: quoteOf(first, source),
  };
}

function quoteOf({ start, text_end: end }, source) {
  const passage = source?.passages.find((one) => one.text && one.start <= start && end <= one.end);
  if (!passage) return "";
  const text = new Points(passage.text).slice(start - passage.start, end - passage.start);
  const short = text.replace(/\s+/g, " ").trim();
  return short.length > LONGEST_QUOTE ? `${short.slice(0, LONGEST_QUOTE)} …` : short;
}

/**
 * The chip of some citations that stand at one place of the answer. `group` may still grow, so it
 * is read when it is needed. `read(document, places)` opens the reader.
 */
export function chip(number, group, sources, read) {
  const known = () => group.filter((one) => one.state !== "unknown");
  const places = () => known().map((one) => ({ start: one.start, end: one.text_end }));
  const words = () => {
    const { name, place, state } = told(group, sources());
    return [name, place, state].filter(Boolean).join(", ");
  };
  const [first] = known();
  if (!first) {
    const label = `Unknown citation ${words()}`;
    return carded(
      h("span", { class: "cite unknown", role: "note", tabIndex: 0, "aria-label": label }, "?"),
      group,
      sources,
    );
  }
  const click = (event) => {
    if (isForBrowser(event)) return;
    event.preventDefault();
    hideCard();
    read(first.document, places());
  };
  const state = known().some((one) => one.state === "cited") ? "cited" : "context";
  const given = {
    class: `cite ${state}`,
    href: readHash(first.document, places()),
    "aria-label": `Citation ${number}: ${words()}`,
  };
  return carded(h("a", { ...given, "data-number": number, on: { click } }, String(number)), group, sources);
}

let card = null;

function carded(element, group, sources) {
  const show = () => showCard(element, told(group, sources()));
  for (const event of ["pointerenter", "focus"]) element.addEventListener(event, show);
  for (const event of ["pointerleave", "blur"]) element.addEventListener(event, hideCard);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || card?.hidden) return;
    event.stopPropagation();
    hideCard();
  });
  return element;
}

function hideCard() {
  if (card) card.hidden = true;
}

function showCard(element, { name, place, state, quote }) {
  if (!card) {
    // What it says is in the chip's label, too.
    card = h("div", { class: "cite-card", "aria-hidden": "true" });
    addEventListener("scroll", hideCard, true);
  }
  document.body.append(card);
  fill(
    card,
    h("p", { class: "cite-name" }, name),
    place && h("p", { class: "muted" }, place),
    quote && h("blockquote", {}, quote),
    h("p", { class: "muted" }, state),
  );
  card.hidden = false;
  const { left, top, bottom } = element.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(left - 12, innerWidth - width - 8))}px`;
  card.style.top = `${top - height - 6 > 8 ? top - height - 6 : bottom + 6}px`;
}
