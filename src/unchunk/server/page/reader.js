// A document to read: its text, or its drawn pages, with what was cited highlighted in the whole.

import { call } from "./api.js";
import { chunkWords, headingWords, pageWords, readHash } from "./citation.js";
import { iconButton, iconLink } from "./controls.js";
import { copy } from "./copying.js";
import { fill, h } from "./dom.js";
import { Excerpt } from "./excerpt.js";
import { icon } from "./icons.js";
import { Leaf } from "./leaf.js";
import { lastUpTo } from "./points.js";
import { many, number } from "./words.js";

const MOST_HEADINGS = 500;

/**
 * The full view. A place is `range=start-end`, or `start` and `end`; `gap` is a run of chunks, and
 * `q`, of the `conversation`, the question that may be asked again with them.
 */
export async function show(view, parts, query, context) {
  const [document = ""] = parts;
  const gap = rangeOf(query.get("gap"));
  const reader = new Reader(document, { places: placesOf(query), gap, context, isFull: true });
  if (gap && query.get("q")) {
    const asking = new URLSearchParams({ q: query.get("q"), include: `${document}:${gap.start}-${gap.end}` });
    const conversation = encodeURIComponent(query.get("conversation") ?? "");
    reader.include = () => context.go(`#/chat/${conversation}?${asking}`);
  }
  fill(view, reader.element);
  await reader.open();
  return () => reader.leave();
}

function rangeOf(text) {
  const found = /^(\d{1,12})-(\d{1,12})$/.exec(text ?? "");
  return found ? { start: Number(found[1]), end: Number(found[2]) } : null;
}

function placesOf(query) {
  const single = rangeOf(`${query.get("start")}-${query.get("end")}`);
  return [single, ...query.getAll("range").map(rangeOf)].filter((one) => one && one.start < one.end);
}

/**
 * `places` are highlighted, the first is shown; `gap` are chunks that were left out, and with
 * `include` they can be asked with. `checksum` is of the document that the places were meant for.
 */
export class Reader {
  #active = 0;
  #outline = null;
  #isPaged = false;

  constructor(document, { places = [], gap = null, context, checksum = "", include = null, isFull = false }) {
    Object.assign(this, { document, gap, context, checksum, include, isFull });
    this.path = `/api/documents/${encodeURIComponent(document)}`;
    this.places = [...places].sort((one, other) => one.start - other.start);
    this.head = h("div", { class: "reader-head" });
    this.tools = h("div", { class: "reader-tools" });
    this.notice = h("p", { class: "notice warn small", hidden: true });
    this.body = h("div", { class: "reader-body" }, h("p", { class: "waiting" }, "Opening the document …"));
    this.where = h("span", { class: "hint number" });
    this.element = h("div", { class: `reader${isFull ? " full" : ""}` }, this.head, this.tools, this.notice, this.body);
  }

  async open() {
    try {
      const [outline, listed] = await Promise.all([call("GET", `${this.path}/outline`), call("GET", this.path)]);
      this.#outline = outline;
      this.listed = listed;
      if (this.gap) await this.#addGap();
      this.#build();
      const [first] = this.places;
      await this.excerpt.to(first?.start ?? 0, { centred: Boolean(first) });
      this.#mark(0, false);
    } catch (error) {
      if (error.status === 401) throw error;
      const isGone = error.status === 404;
      fill(
        this.body,
        h(
          "div",
          { class: "empty" },
          icon("file"),
          h("h2", {}, isGone ? "This document is not there" : "This document cannot be shown"),
          h("p", {}, isGone ? "It was deleted, or is not yet indexed." : error.message),
        ),
      );
    }
  }

  leave() {
    this.element.remove();
  }

  /** The chunks of a gap as one place of the text. */
  async #addGap() {
    const { start: first, end: last } = this.gap;
    const { chunks } = await call("GET", `${this.path}/chunks`, {
      query: { first, last: Math.min(last, first + 199) },
    });
    if (chunks.length) this.places.unshift({ start: chunks[0].start, end: chunks.at(-1).end, kind: "gap" });
  }

  #build() {
    const { name, text_length: length, pages, headings } = this.#outline;
    this.excerpt = new Excerpt(this.document, { length, pages, places: this.places, moved: (at) => this.#moved(at) });
    if (this.#outline.has_pages_to_see)
      this.leaf = new Leaf(this.document, { name, pages, length, turned: (page) => this.#tellPage(page) });
    if (this.isFull) this.#showHead();
    this.#showTools();
    if (this.checksum && this.listed.sha256 !== this.checksum) {
      this.notice.textContent =
        "This document has changed since the answer was written: the highlighted places may be others now.";
      this.notice.hidden = false;
    }
    const outline = headings.length > 1 && this.#contents(headings.slice(0, MOST_HEADINGS));
    this.shown = h("div", { class: "reader-shown" }, this.excerpt.element);
    fill(this.body, outline, this.shown);
  }

  #showHead() {
    const { name, page_count: pages, chunk_count: chunks, text_length: length } = this.#outline;
    const measures = [pages > 1 && many(pages, "page"), many(chunks, "chunk"), `${number(length)} characters`];
    const about = [this.listed.folder, ...measures].filter(Boolean).join(" · ");
    const back = () => (history.length > 1 ? history.back() : this.context.go("#/library"));
    const title = h(
      "div",
      { class: "reader-title" },
      h("h1", { class: "clip", title: name }, name),
      h("p", { class: "hint clip" }, about),
    );
    fill(this.head, iconButton("Back", "back", back), title);
  }

  #showTools() {
    const count = this.places.length;
    const isPaged = this.#outline.pages.length > 1;
    const download = iconLink("Download the original", "download", `${this.path}/original`, { download: "" });
    const copying = count > 0 && iconButton("Copy the citation", "copy", () => this.#copy());
    fill(
      this.tools,
      this.leaf && this.#switch(),
      isPaged ? this.#pageSteps() : this.where,
      count > 1 && this.#markSteps(),
      this.gap && this.include && this.#askButton(),
      h("div", { class: "ends" }, copying, download),
    );
  }

  #askButton() {
    const { start: first_chunk, end: last_chunk } = this.gap;
    const click = () => this.include([{ document: this.document, first_chunk, last_chunk }], this.#outline.name);
    return h(
      "button",
      { class: "button small", type: "button", on: { click } },
      icon("refresh"),
      "Ask again with this",
    );
  }

  #markSteps() {
    const to = (step) => () => this.#mark(this.#active + step);
    this.counter = h("span", { class: "hint number", "aria-live": "polite" });
    const given = { class: "steps", role: "group", "aria-label": "Highlights" };
    return h(
      "div",
      given,
      iconButton("Highlight before", "up", to(-1)),
      this.counter,
      iconButton("Next highlight", "down", to(1)),
    );
  }

  #pageSteps() {
    const { pages } = this.#outline;
    const to = (page) => this.#goTo(pages[Math.min(Math.max(Math.round(page) || 1, 1), pages.length) - 1]);
    const step = (by) => () => to(Number(this.page.value) + by);
    const given = { class: "input number", type: "number", min: 1, max: pages.length, value: 1 };
    const change = () => to(Number(this.page.value));
    this.page = h("input", { ...given, "aria-label": `Page, of ${pages.length}`, on: { change } });
    const of = h("span", { class: "hint" }, `of ${pages.length}`);
    return h(
      "div",
      { class: "steps" },
      iconButton("Page before", "left", step(-1)),
      this.page,
      of,
      iconButton("Next page", "right", step(1)),
    );
  }

  #switch() {
    const choice = (label, isPaged) => {
      const change = () => this.#show(isPaged);
      const given = { type: "radio", name: "shown", checked: isPaged === this.#isPaged };
      return h("label", {}, h("input", { ...given, on: { change } }), h("span", {}, label));
    };
    const given = { class: "segments", role: "radiogroup", "aria-label": "How it is shown" };
    return h("div", given, choice("Text", false), choice("Page", true));
  }

  /** Text or pages; each begins where the other was. */
  async #show(isPaged) {
    this.#isPaged = isPaged;
    fill(this.shown, isPaged ? this.leaf.element : this.excerpt.element);
    if (!isPaged) {
      await this.excerpt.to(this.places[this.#active]?.start ?? this.at ?? 0, { centred: true });
      return;
    }
    this.leaf.places = this.places;
    await this.leaf.to(this.leaf.pageOf(this.places[this.#active]?.start ?? this.at ?? 0));
  }

  #contents(headings) {
    const least = Math.min(...headings.map((one) => one.level));
    this.links = headings.map(({ at, level, title }) => {
      const link = h("button", { class: "link", type: "button", on: { click: () => this.#goTo(at) } }, title);
      link.style.paddingLeft = `${Math.min(level - least, 4) * 0.75}rem`;
      return h("li", {}, link);
    });
    this.headings = headings;
    return h(
      "details",
      { class: "contents", open: this.isFull && innerWidth > 960 },
      h("summary", {}, "Contents"),
      h("ul", {}, this.links),
    );
  }

  #goTo(at) {
    if (this.#isPaged) this.leaf.to(this.leaf.pageOf(at));
    else this.excerpt.to(at);
  }

  /** Go to another highlight, around the end to the first. */
  #mark(to, goes = true) {
    if (this.places.length === 0) return;
    this.#active = (to + this.places.length) % this.places.length;
    if (this.counter) this.counter.textContent = `${this.#active + 1} of ${this.places.length}`;
    this.excerpt.highlight(this.places, this.#active);
    if (goes)
      this.#isPaged
        ? this.leaf.to(this.leaf.pageOf(this.places[this.#active].start))
        : this.excerpt.to(this.places[this.#active].start, { centred: true });
  }

  #moved(at) {
    this.at = at;
    const { pages, text_length: length } = this.#outline;
    if (pages.length > 1) this.#tellPage(lastUpTo(pages, at) + 1);
    else this.where.textContent = `${Math.round((100 * at) / Math.max(length, 1))} %`;
    const heading = this.headings ? lastUpTo(this.headings, at + 1, (one) => one.at) : -1;
    if (heading === this.heading) return;
    this.heading = heading;
    this.links?.forEach((one, index) => one.classList.toggle("current", index === heading));
    this.links?.[heading]?.scrollIntoView({ block: "nearest" });
  }

  #tellPage(page) {
    // Who is typing a number is not interrupted.
    if (document.activeElement !== this.page || this.#isPaged) this.page.value = Math.max(1, page);
  }

  /** What the place is, in words, and an address that leads to it. */
  async #copy() {
    const place = this.places[this.#active];
    const { name, pages, headings } = this.#outline;
    const page = (at) => (pages.length > 1 ? Math.max(1, lastUpTo(pages, at) + 1) : 0);
    const path = [];
    for (const one of headings.slice(0, lastUpTo(headings, place.start, (it) => it.at) + 1)) {
      while (path.length && path.at(-1).level >= one.level) path.pop();
      path.push(one);
    }
    const gap = place.kind && chunkWords(this.gap.start, this.gap.end);
    const words = [
      name,
      pageWords(page(place.start), page(place.end - 1)),
      headingWords(path.map((one) => one.title)),
      gap,
      `characters ${place.start}–${place.end}`,
    ];
    const address = new URL(readHash(this.document, [place]), location.href);
    await copy(`${words.filter(Boolean).join(", ")}\n${address}`, (told) =>
      this.context.notify(`${told}: ${words[0]}`),
    );
  }
}
