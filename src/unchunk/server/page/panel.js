// The side panel of the chat: a column on a wide screen, over everything on a narrow one.

import { iconButton, iconLink } from "./controls.js";
import { fill, h } from "./dom.js";

const WIDE = matchMedia("(min-width: 72rem)");

export class Panel {
  #leave = () => {};
  #before = null;
  // Whoever closed it does not want it to come back by itself.
  #isRefused = false;

  constructor() {
    this.head = h("div", { class: "panel-head" });
    this.body = h("div", { class: "panel-body" });
    this.element = h(
      "aside",
      { class: "panel", id: "panel", "aria-label": "Sources", hidden: true },
      this.head,
      this.body,
    );
    const toggle = () => (this.element.hidden ? this.#open() : this.close());
    this.button = iconButton("Sources", "panel", toggle, {
      "aria-controls": "panel",
      "aria-expanded": "false",
      hidden: true,
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) this.close();
    });
    // On a phone the way back closes what lies over the chat.
    this.popped = () => this.#hide();
    addEventListener("popstate", this.popped);
  }

  get isWide() {
    return WIDE.matches;
  }

  /** Whether sources may be shown that nobody has asked to see: beside the chat, not over it. */
  comesItself({ overReader = false } = {}) {
    return this.isWide && !this.#isRefused && (overReader || !this.element.classList.contains("reads"));
  }

  /** `back` and `href` give the head a way back and a way to the full view. */
  show(title, content, { back, href, leave } = {}) {
    this.#leave();
    this.#leave = leave ?? (() => {});
    const isBusy = !this.element.hidden && this.element.contains(document.activeElement);
    fill(
      this.head,
      back && iconButton("Back to the sources", "back", back),
      h("h2", { class: "clip", title, tabIndex: -1 }, title),
      href && iconLink("Read in full view", "read", href),
      iconButton("Close the panel", "close", () => this.close()),
    );
    fill(this.body, content);
    this.body.scrollTop = 0;
    this.element.setAttribute("aria-label", title);
    this.element.classList.toggle("reads", Boolean(href));
    this.button.hidden = false;
    // Who asked for it goes to it; what comes by itself takes nobody's focus.
    this.#open(isBusy || Boolean(href) || !this.isWide);
  }

  #open(focus = true) {
    if (!this.element.contains(document.activeElement)) this.#before = document.activeElement;
    if (this.element.hidden && !this.isWide) history.pushState({ panel: true }, "");
    this.#isRefused = false;
    this.element.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    if (focus) this.head.querySelector("h2").focus({ preventScroll: true });
  }

  close() {
    if (this.isWide) this.#isRefused = true;
    if (history.state?.panel) history.back();
    else this.#hide();
  }

  #hide() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    if (this.#before?.isConnected) this.#before.focus({ preventScroll: true });
  }

  leave() {
    removeEventListener("popstate", this.popped);
    this.#leave();
  }
}
