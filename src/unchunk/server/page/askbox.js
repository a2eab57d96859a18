// The box that questions are written in, with what each of them is asked with.

import { call } from "./api.js";
import { complete } from "./completion.js";
import { iconButton, select } from "./controls.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { recall, remember } from "./kept.js";
import { CHOICES } from "./plan.js";

const HINT = "Enter asks, Shift+Enter begins a new line, source: names a document.";

/**
 * `ask(body)` is told what is asked; while an answer is written, there is `stop()` instead. What
 * `owner` left unasked is there again.
 */
export class AskBox {
  #isBusy = false;
  #folder = "";
  #include = [];

  constructor({ owner, ask, stop }) {
    this.draft = `draft of ${owner}`;
    this.ask = ask;
    this.text = h("textarea", {
      class: "ask-box",
      id: "ask",
      rows: 1,
      maxLength: 100_000,
      placeholder: "Ask your documents …",
      value: recall(this.draft) ?? "",
      "aria-label": "Your question",
      "aria-describedby": "ask-hint",
      enterKeyHint: "send",
    });
    const choices = Object.entries(CHOICES).map(([value, { label }]) => [value, label]);
    this.mode = select(choices, { "aria-label": "What to answer from" });
    this.folder = select([], { "aria-label": "Folder to look in", hidden: true });
    this.send = h("button", { class: "button primary send", type: "submit", "aria-label": "Ask" }, icon("send"));
    const given = { class: "button send", type: "button", "aria-label": "Stop the answer", hidden: true };
    this.stop = h("button", { ...given, on: { click: stop } }, icon("stop"));
    const row = h("div", { class: "ask-row" }, this.mode, this.folder, this.stop, this.send);
    this.extras = h("div", { class: "extras" });
    const frame = h("div", { class: "ask-frame" }, this.extras, this.text, row);
    const hint = h("p", { class: "hint", id: "ask-hint" }, HINT);
    this.element = h("form", { class: "ask", "aria-label": "Ask" }, frame, hint);
    complete(this.text, frame);
    this.#listen();
  }

  #listen() {
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.text.addEventListener("keydown", (event) => {
      // Whoever writes with an input method ends a word with Enter.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    this.text.addEventListener("input", () => this.write(this.text.value));
  }

  submit() {
    const message = this.text.value.trim();
    if (!message || this.#isBusy) return;
    const body = { message, ...CHOICES[this.mode.value].body };
    if (this.folder.value) body.folder = this.folder.value;
    if (this.#include.length) body.include = this.#include;
    this.write("");
    this.include([], "");
    this.ask(body);
  }

  /** Chunks that the next question is asked with, and what they are. */
  include(include, words) {
    this.#include = include;
    const away = iconButton("Ask without this", "close", () => this.include([], ""));
    fill(this.extras, words && h("span", { class: "badge accent" }, `With ${words}`), words && away);
  }

  /** What is in the box survives a reload, and being sent to the door for a key. */
  write(text) {
    this.text.value = text;
    remember(this.draft, text || null);
    this.fit();
  }

  /** The box is as high as what is in it, within reason. */
  fit() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight, innerHeight * 0.35)}px`;
  }

  /** Where a finger would call up the keyboard, nobody is put into the box. */
  focus() {
    if (matchMedia("(pointer: fine)").matches) this.text.focus({ preventScroll: true });
  }

  set isBusy(isBusy) {
    this.#isBusy = isBusy;
    const hadFocus = document.activeElement === this.stop;
    this.stop.hidden = !isBusy;
    this.send.hidden = isBusy;
    if (hadFocus && !isBusy) this.text.focus();
  }

  async loadFolders() {
    try {
      const { folders } = await call("GET", "/api/folders");
      const names = folders.map((one) => one.folder).filter(Boolean);
      const options = [["", "All folders"], ...names.map((one) => [one, one])];
      fill(this.folder, ...options.map(([value, words]) => h("option", { value }, words)));
      this.folder.hidden = names.length === 0;
      this.choose(this.#folder);
    } catch {
      // All folders, then.
    }
  }

  /** The folder of a conversation; it may be known before the folders are. */
  choose(folder) {
    this.#folder = folder;
    if ([...this.folder.options].some((one) => one.value === folder)) this.folder.value = folder;
  }
}
