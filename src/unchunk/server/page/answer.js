// One answer: it is told the events of a question, live or from the record, and shows them.

import { announce, fill, h } from "./dom.js";
import { chip, headingWords, pageWords } from "./citation.js";
import { copy } from "./copying.js";
import { Growing } from "./growing.js";
import { icon } from "./icons.js";
import { CITE, CITED, plain } from "./inline.js";
import { menuButton } from "./menu.js";
import { CHOICES, howWords } from "./plan.js";
import { Points } from "./points.js";
import { many, number } from "./words.js";

// What the server will refuse again: the question itself is wrong.
const NO_USE = { 400: true, 404: true, 413: true, 422: true };

/**
 * `acts` is what a click does: `read(answer, document, places)`, `sources(answer)`, `again(answer,
 * changes)`; `why(answer)` gives an address; `isLive` tells that somebody waits for the answer.
 * `body` is what was asked, as far as it is known.
 */
export class Answer {
  plan = null;
  found = null;
  usage = null;
  finish = "";
  model = "";
  turn = null;
  isOver = false;
  #acts;
  #marks = [];
  #numbers = new Map();
  // The text with marks for its citations, and what came behind the last of them, which begins at
  // the code point #at of the answer.
  #marked = "";
  #tail = "";
  #at = 0;
  #frame = 0;
  #cost = 0;

  constructor(body, acts) {
    this.body = body;
    this.#acts = acts;
    this.prose = h("div", { class: "prose" });
    this.growing = new Growing(this.prose, (mark) => this.#chip(mark));
    this.waiting = h(
      "p",
      { class: "thinking" },
      h("span", { class: "dots" }),
      h("span", {}, this.#asksDocuments ? "Searching your documents" : "Thinking"),
    );
    this.line = h("p", { class: "line-state muted", role: "status" });
    this.notices = h("div", { class: "notices" });
    this.foot = h("footer", { class: "answer-foot" });
    this.element = h(
      "div",
      { class: "answer", "aria-busy": "true" },
      this.prose,
      this.waiting,
      this.line,
      this.notices,
      this.foot,
    );
  }

  get #asksDocuments() {
    return this.body.rag_enabled !== false;
  }

  get sources() {
    return this.found?.sources ?? [];
  }

  get text() {
    return this.#marked + this.#tail;
  }

  /** The numbers under which a document is cited. */
  numbersOf(document) {
    return [...this.#numbers].filter(([key]) => key.startsWith(`${document}:`)).map(([, one]) => one);
  }

  take(kind, data) {
    const taker = {
      plan: () => (this.plan = data),
      sources: () => this.#takeSources(data),
      reading: () =>
        (this.waiting.lastChild.textContent = `Reading part ${data.part} of ${data.parts}: ${data.name}`),
      token: () => (this.#tail += plain(data.text)),
      citation: () => this.#takeCitation(data),
      warning: () => this.#note("warn", data.message, null, data.code),
      usage: () => (this.usage = data),
      error: () => this.#takeError(data),
      refused: () => this.#takeError({ message: data.message, transient: !(data.status in NO_USE) }),
      done: () => ({ finish: this.finish, model: this.model, turn: this.turn } = data),
      line: () => (this.line.textContent = data),
      over: () => this.#end(),
    }[kind];
    taker?.();
    if (kind === "token" || kind === "citation") this.#paintSoon();
  }

  #takeSources(data) {
    this.found = data;
    this.waiting.lastChild.textContent = data.sources.length
      ? `Reading ${many(data.sources.length, "document")}`
      : "Thinking";
    this.#acts.found?.(this);
  }

  #takeCitation(data) {
    const last = this.#marks.at(-1);
    if (last && last.at === data.at) {
      // One more chunk of the same range.
      last.group.push(data);
      return;
    }
    const points = new Points(this.#tail);
    this.#marked += `${points.slice(0, data.at - this.#at)}${CITE}${this.#marks.length}${CITED}`;
    this.#tail = points.slice(data.end - this.#at);
    this.#at = data.end;
    this.#marks.push({ at: data.at, group: [data] });
  }

  #chip(mark) {
    const { group } = this.#marks[mark] ?? { group: [] };
    if (group.length === 0) return document.createTextNode("");
    const known = group.find((one) => one.state !== "unknown");
    return chip(
      known ? this.#numberOf(known) : 0,
      group,
      () => this.sources,
      (document, places) => this.#acts.read(this, document, places),
    );
  }

  #numberOf({ document, chunk_index: index }) {
    const key = `${document}:${index}`;
    if (!this.#numbers.has(key)) this.#numbers.set(key, this.#numbers.size + 1);
    return this.#numbers.get(key);
  }

  /** At most once a frame, and less often where a block is so long that painting it takes time. */
  #paintSoon() {
    if (this.#frame) return;
    const paint = () => {
      this.#frame = 0;
      this.#paint(!this.isOver);
    };
    this.#frame = this.#cost > 8 ? setTimeout(paint, this.#cost * 6) : requestAnimationFrame(paint);
  }

  #paint(open) {
    const began = performance.now();
    this.growing.show(this.text, open);
    if (this.text) this.waiting.hidden = true;
    this.#cost = performance.now() - began;
  }

  #takeError({ code, message, transient }) {
    if (code === "stopped") this.#note("", "You stopped this answer.");
    else this.#note("bad", message, transient !== false && (() => this.#acts.again(this, {})));
  }

  #note(kind, message, retry, code = "") {
    const words = message.charAt(0).toUpperCase() + message.slice(1);
    const button =
      retry &&
      h("button", { class: "button small", type: "button", on: { click: retry } }, icon("refresh"), "Try again");
    const given = { class: `notice small ${kind}`, role: kind === "bad" ? "alert" : null, "data-code": code };
    this.notices.append(h("div", given, kind && icon("warning"), h("p", { class: "words" }, words), button));
  }

  #end() {
    this.isOver = true;
    this.waiting.hidden = true;
    this.line.textContent = "";
    // A refusal says so itself.
    if (this.finish === "refused") this.notices.querySelector('[data-code="no-source"]')?.remove();
    this.#paint(false);
    this.element.removeAttribute("aria-busy");
    this.#showFoot();
    if (this.#acts.isLive) announce(this.text ? "The answer is there." : "There is no answer.");
  }

  #showFoot() {
    const button = (words, kind, click, ...before) =>
      h("button", { class: `button small ${kind}`, type: "button", on: { click } }, ...before, words);
    const count = this.sources.length;
    const sources = button(`Sources (${count})`, "", () => this.#acts.sources(this), icon("panel"));
    const told = { class: "badge accent", title: "Word for word from the documents: no model wrote this" };
    const copying = button("Copy", "quiet", () => copy(this.forCopy(), (words) => (copying.textContent = words)));
    fill(
      this.foot,
      h("p", { class: "how" }, howWords(this.plan, this.body), this.#measure()),
      h(
        "div",
        { class: "acts" },
        count > 0 && sources,
        this.finish === "extractive" && h("span", told, "Quotes"),
        h("a", { class: "button small quiet", href: this.#acts.why(this) }, "Why this answer?"),
        this.text && copying,
        menuButton("Ask again", () => this.#choices()),
      ),
    );
  }

  #choices() {
    return Object.values(CHOICES).map(({ label, body }) => ({
      label: `Ask again: ${label.toLowerCase()}`,
      icon: "refresh",
      act: () => this.#acts.again(this, { rag_enabled: undefined, ...body }),
    }));
  }

  #measure() {
    if (!this.plan?.rag || !this.usage?.context_size) return "";
    const { context_size: size, context_budget: budget, unit } = this.usage;
    const of = budget ? ` of ${number(budget)}` : "";
    const writer = this.model && this.finish !== "extractive" ? ` Written by ${this.model}.` : "";
    return ` Evidence: ${number(size)}${of} ${unit}.${writer}`;
  }

  /** The answer with `[1]` for its citations, and where each of them stands. */
  forCopy() {
    const places = new Map();
    const text = this.text.replace(/\ufdd0(\d+)\ufdd1/g, (_, mark) => {
      const { group } = this.#marks[mark];
      const known = group.find((one) => one.state !== "unknown");
      if (!known) return group[0].text;
      const place = [known.name, pageWords(known.first_page, known.last_page), headingWords(known.heading_path)];
      places.set(this.#numberOf(known), place.filter(Boolean).join(", "));
      return `[${this.#numberOf(known)}]`;
    });
    return [text, ...[...places].map(([one, place]) => `[${one}] ${place}`)].join("\n");
  }
}

/** The events of an answer that was kept. */
export function* recorded(turn) {
  const {
    plan,
    sources = [],
    omitted = [],
    also_see = [],
    citations = [],
    warnings = [],
    usage,
    error,
    finish,
    model,
  } = turn.record;
  if (plan) yield ["plan", plan];
  if (plan?.rag) yield ["sources", { sources, omitted, also_see }];
  const points = new Points(turn.answer);
  let at = 0;
  for (const one of citations) {
    if (one.end > at) yield ["token", { text: points.slice(at, one.end) }];
    at = Math.max(at, one.end);
    yield ["citation", one];
  }
  if (at < points.length) yield ["token", { text: points.slice(at) }];
  for (const one of warnings) yield ["warning", one];
  if (usage) yield ["usage", usage];
  if (error) yield ["error", error];
  if (turn.status === "stopped" && error?.code !== "stopped") yield ["error", { code: "stopped" }];
  if (turn.status === "interrupted") yield ["error", { message: "The server ended amid this answer." }];
  if (turn.status === "failed" && !error) yield ["error", { message: "This answer failed." }];
  yield ["done", { answer: turn.answer, finish: finish ?? "", model: model ?? "", turn: turn.number }];
  yield ["over"];
}
