// The pages of a PDF as they are drawn, with what is highlighted marked on them.

import { call } from "./api.js";
import { fill, h } from "./dom.js";
import { lastUpTo } from "./points.js";

const WIDTHS = [900, 1400, 2000];

/** `pages` are the places where pages begin; `turned(page)` is told which one is shown. */
export class Leaf {
  #turn = 0;

  constructor(document, { name, pages, length, turned = () => {} }) {
    this.path = `/api/documents/${encodeURIComponent(document)}/pages`;
    Object.assign(this, { name, pages, length, turned });
    this.page = 1;
    this.places = [];
    this.sheet = h("div", { class: "sheet" });
    this.element = h("div", { class: "leaf", tabIndex: 0, role: "region", "aria-label": "The page" }, this.sheet);
  }

  /** The page that a place of the text stands on. */
  pageOf(at) {
    return Math.max(1, lastUpTo(this.pages, at) + 1);
  }

  async to(page) {
    const mine = ++this.#turn;
    this.page = page;
    this.element.scrollTop = 0;
    this.turned(page);
    const wanted = this.element.clientWidth * devicePixelRatio;
    const width = WIDTHS.find((one) => one >= wanted) ?? WIDTHS.at(-1);
    const picture = h("img", {
      alt: `Page ${this.page} of ${this.name}`,
      src: `${this.path}/${this.page}?width=${width}`,
    });
    picture.addEventListener("error", () =>
      fill(this.sheet, h("p", { class: "notice warn" }, "This page could not be drawn. Its text is there to read.")),
    );
    const marks = h("div", { class: "sheet-marks", "aria-hidden": "true" });
    fill(this.sheet, picture, marks);
    const found = await this.#marks();
    if (mine !== this.#turn) return;
    marks.append(...found.map(drawn));
    await picture.decode().catch(() => {});
    if (mine === this.#turn) marks.firstChild?.scrollIntoView({ block: "center" });
  }

  async #marks() {
    const start = this.pages[this.page - 1];
    const end = this.pages[this.page] ?? this.length;
    const here = this.places.filter((one) => one.start < end && one.end > start);
    const got = await Promise.allSettled(
      here.map((one) => call("GET", `${this.path}/${this.page}/marks`, { query: { start: one.start, end: one.end } })),
    );
    return got.flatMap((one) => one.value?.marks ?? []);
  }
}

function drawn({ x, y, width, height }) {
  const mark = h("span", {});
  for (const [side, share] of Object.entries({ left: x, top: y, width, height })) mark.style[side] = `${share * 100}%`;
  return mark;
}
