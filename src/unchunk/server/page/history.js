// The conversations that are kept: a list to open, rename and delete them.

import { call } from "./api.js";
import { askText } from "./dialog.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { menuButton } from "./menu.js";
import { moment } from "./words.js";

const AT_ONCE = 40;
const UNNAMED = "Untitled";

const path = (id) => `/api/conversations/${encodeURIComponent(id)}`;

/** `current()` is the id of the open conversation; `renamed(title)` is told when that one is. */
export class History {
  #conversations = [];
  #isWhole = false;

  constructor(context, { current, renamed }) {
    this.context = context;
    this.current = current;
    this.renamed = renamed;
    this.list = h("ul", { class: "conversations" });
    this.element = h(
      "nav",
      { class: "history", id: "history", "aria-label": "Conversations" },
      h("a", { class: "button", href: "#/chat", "data-new": "" }, icon("plus"), "New conversation"),
      this.list,
    );
  }

  async load(before) {
    try {
      const { conversations } = await call("GET", "/api/conversations", { query: { limit: AT_ONCE, before } });
      this.#conversations = before ? [...this.#conversations, ...conversations] : conversations;
      this.#isWhole = conversations.length < AT_ONCE;
      this.show();
    } catch (error) {
      if (!this.list.hasChildNodes()) fill(this.list, h("li", { class: "hint" }, error.message));
    }
  }

  show() {
    const last = this.#conversations.at(-1)?.id;
    const more = h(
      "button",
      { class: "button small quiet", type: "button", on: { click: () => this.load(last) } },
      "Show older ones",
    );
    fill(
      this.list,
      this.#conversations.length === 0 && h("li", { class: "hint" }, "What you ask is kept here."),
      this.#conversations.map((one) => this.#item(one)),
      !this.#isWhole && this.#conversations.length > 0 && h("li", {}, more),
    );
  }

  #item(one) {
    const title = one.title || UNNAMED;
    const isCurrent = one.id === this.current();
    return h(
      "li",
      { class: isCurrent ? "current" : null },
      h(
        "a",
        { href: `#/chat/${encodeURIComponent(one.id)}`, title, "aria-current": isCurrent ? "true" : null },
        h("span", { class: "clip" }, title),
        h("span", { class: "hint" }, moment(one.updated_at), one.folder && ` · ${one.folder}`),
      ),
      menuButton(`What to do with “${title}”`, () => [
        { label: "Rename", icon: "edit", act: () => this.#rename(one) },
        { label: "Delete", icon: "trash", danger: true, act: () => this.#delete(one) },
      ]),
    );
  }

  async #rename(one) {
    const title = await askText("Rename the conversation", { label: "Its name", action: "Rename", value: one.title });
    if (!title) return;
    await this.#tried(async () => {
      const { title: kept } = await call("PATCH", path(one.id), { body: { title } });
      one.title = kept;
      if (one.id === this.current()) this.renamed(kept);
      this.show();
    });
  }

  async #delete(one) {
    const detail = "Its questions and answers are removed for good. Your documents stay.";
    if (!(await this.context.confirm(`Delete “${one.title || UNNAMED}”?`, { detail, action: "Delete" }))) return;
    await this.#tried(async () => {
      await call("DELETE", path(one.id));
      this.#conversations = this.#conversations.filter((other) => other !== one);
      if (one.id === this.current()) this.context.go("#/chat");
      else this.show();
    });
  }

  async #tried(act) {
    try {
      await act();
    } catch (error) {
      this.context.notify(error.message, "bad");
    }
  }
}
