// A part of a long text to scroll in: what is near is loaded, what is far is let go, so that a
// text of any length can be read. All places are code points of the whole text.

import { call } from "./api.js";
import { h } from "./dom.js";
import { lastUpTo, parts, Points } from "./points.js";

const SLICE = 100_000;
// So much of the first slice stands before the place that is wanted.
const BEFORE = 20_000;
const MOST_SLICES = 5;
const NEAR = 1200;

/**
 * `pages` are the places where pages begin, `places` what is highlighted. `moved(at)` is told which
 * place is at the top.
 */
export class Excerpt {
  #slices = [];
  #isLoading = false;
  #frame = 0;
  #turn = 0;

  constructor(document, { length, pages = [], places = [], moved = () => {} }) {
    this.path = `/api/documents/${encodeURIComponent(document)}/text`;
    this.length = length;
    this.pages = pages.length > 1 ? pages : [];
    this.places = places;
    this.moved = moved;
    this.text = h("div", { class: "text" });
    this.element = h("div", { class: "excerpt", tabIndex: 0, role: "region", "aria-label": "The text" }, this.text);
    this.element.addEventListener("scroll", () => {
      this.#frame ||= requestAnimationFrame(() => this.#scrolled());
    });
  }

  /** Show the text around `at`, with `at` near the top, or in the middle of what is seen. */
  async to(at, { centred = false } = {}) {
    const place = Math.min(Math.max(at, 0), this.length);
    if (!this.#holds(place)) await this.#begin(place);
    this.#scrollTo(place, centred);
  }

  /** Highlight other places. */
  async highlight(places, active) {
    this.places = places;
    this.active = active;
    const top = this.element.scrollTop;
    for (const slice of this.#slices) this.#fill(slice);
    this.element.scrollTop = top;
  }

  #holds(at) {
    const [first] = this.#slices;
    const last = this.#slices.at(-1);
    return first !== undefined && first.start <= at && (at < last.end || last.end === this.length);
  }

  async #begin(at) {
    const mine = ++this.#turn;
    const start = Math.max(0, Math.min(at - BEFORE, this.length - SLICE));
    const slice = await this.#fetched(start, start + SLICE);
    if (mine !== this.#turn) return;
    this.#slices = [slice];
    this.text.replaceChildren(slice.element);
  }

  async #fetched(start, end) {
    const got = await call("GET", this.path, { query: { start, end: Math.min(end, this.length) } });
    const slice = { start: got.start, end: got.end, points: new Points(got.text), nodes: [], element: h("span", {}) };
    this.#fill(slice);
    return slice;
  }

  /** The text of a slice: page marks between, highlights around what they hold. */
  #fill(slice) {
    slice.nodes = [];
    const made = [];
    const show = (start, end) => made.push(...parts(start, end, this.places).map((one) => this.#part(slice, one)));
    const first = lastUpTo(this.pages, slice.start - 1) + 1;
    const end = lastUpTo(this.pages, slice.end - 1) + 1;
    show(slice.start, first < end ? this.pages[first] : slice.end);
    for (let page = first; page < end; page += 1) {
      const words = `Page ${page + 1}`;
      made.push(h("span", { class: "page-mark", role: "separator", "aria-label": words, "data-page": words }));
      show(this.pages[page], page + 1 < end ? this.pages[page + 1] : slice.end);
    }
    slice.element.replaceChildren(...made);
  }

  #part(slice, { start, end, inside }) {
    const node = document.createTextNode(slice.points.slice(start - slice.start, end - slice.start));
    slice.nodes.push({ start, end, node });
    if (inside.length === 0) return node;
    const kind = inside.map((one) => this.places[one].kind).find(Boolean) ?? "";
    const isActive = inside.includes(this.active);
    return h("mark", { class: `${kind}${isActive ? " active" : ""}`, "data-places": inside.join(" ") }, node);
  }

  #scrollTo(at, centred) {
    const top = this.#topOf(at);
    if (top === null) return;
    const room = this.element.clientHeight;
    this.element.scrollTop += top - (centred ? Math.min(room / 3, 240) : 12);
  }

  /** How far below the upper edge a place is. */
  #topOf(at) {
    for (const { start, end, nodes } of this.#slices) {
      if (at < start || at > end) continue;
      const found = nodes[lastUpTo(nodes, at, (one) => one.start)];
      if (!found) continue;
      const range = document.createRange();
      const unit = new Points(found.node.data).unit(at - found.start);
      range.setStart(found.node, unit);
      // An empty range has no place of its own everywhere.
      range.setEnd(found.node, Math.min(unit + 1, found.node.length));
      return range.getBoundingClientRect().top - this.element.getBoundingClientRect().top;
    }
    return null;
  }

  #scrolled() {
    this.#frame = 0;
    this.#extend();
    const at = this.#atTop();
    if (at !== null) this.moved(at);
  }

  async #extend() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const [first] = this.#slices;
    if (this.#isLoading || !first) return;
    const last = this.#slices.at(-1);
    const isLow = scrollHeight - scrollTop - clientHeight < NEAR && last.end < this.length;
    const isHigh = scrollTop < NEAR && first.start > 0;
    if (!isLow && !isHigh) return;
    this.#isLoading = true;
    const mine = this.#turn;
    try {
      const slice = isLow
        ? await this.#fetched(last.end, last.end + SLICE)
        : await this.#fetched(Math.max(0, first.start - SLICE), first.start);
      if (mine === this.#turn) this.#attach(slice, isLow);
    } catch {
      // The next movement tries again.
    }
    this.#isLoading = false;
  }

  /** Add a slice at one end, and let go of what is too much at the other; nothing seen moves. */
  #attach(slice, isBelow) {
    const stay = this.#slices[isBelow ? this.#slices.length - 1 : 0].element;
    const before = stay.getBoundingClientRect().top;
    if (isBelow) {
      this.#slices.push(slice);
      this.text.append(slice.element);
      if (this.#slices.length > MOST_SLICES) this.#slices.shift().element.remove();
    } else {
      this.#slices.unshift(slice);
      this.text.prepend(slice.element);
      if (this.#slices.length > MOST_SLICES) this.#slices.pop().element.remove();
    }
    this.element.scrollTop += stay.getBoundingClientRect().top - before;
  }

  #atTop() {
    const { left, top, width } = this.element.getBoundingClientRect();
    for (const [x, y] of [
      [left + 40, top + 24],
      [left + width / 2, top + 40],
    ]) {
      const caret = document.caretPositionFromPoint?.(x, y) ?? document.caretRangeFromPoint?.(x, y);
      const node = caret?.offsetNode ?? caret?.startContainer;
      if (!node) continue;
      for (const { nodes } of this.#slices) {
        const found = nodes.find((one) => one.node === node);
        if (found) return found.start + new Points(node.data.slice(0, caret.offset ?? caret.startOffset)).length;
      }
    }
    return null;
  }
}
