// The chat: a thread of questions and answers, the box to ask in, the conversations at one side,
// sources and the reader at the other.

import { call } from "./api.js";
import { Answer, recorded } from "./answer.js";
import { AskBox } from "./askbox.js";
import { stretchOf, whyHash } from "./asked.js";
import { chunkWords, readHash } from "./citation.js";
import { quoted } from "./completion.js";
import { iconButton, iconLink } from "./controls.js";
import { announce, fill, h } from "./dom.js";
import { Asking, underWay } from "./events.js";
import { History } from "./history.js";
import { icon } from "./icons.js";
import { Panel } from "./panel.js";

const SUGGESTED = 3;

export async function show(view, parts, query, context) {
  const chat = new Chat(context, parts[0] ?? "");
  fill(view, chat.element);
  try {
    await chat.open(query);
  } catch (error) {
    chat.leave();
    throw error;
  }
  return () => chat.leave();
}

class Chat {
  #unfollow = () => {};
  #unwatch = () => {};
  #asking = null;
  #names = new Map();
  #shown = null;

  constructor(context, conversation) {
    this.context = context;
    this.conversation = conversation;
    this.title = h("h1", { class: "clip" }, "New conversation");
    this.history = new History(context, {
      current: () => this.conversation,
      renamed: (title) => (this.title.textContent = title),
    });
    this.panel = new Panel();
    this.thread = h("div", { class: "turns" });
    this.scroller = h("div", { class: "thread", tabIndex: -1 }, this.thread);
    this.box = new AskBox({
      owner: context.session.owner,
      ask: (body) => this.#ask(body),
      stop: () => this.#asking?.stop(),
    });
    // For pointers alone: Escape does the same.
    const shade = h("div", { class: "shade", on: { click: () => this.#toggleHistory(false) } });
    this.element = h(
      "div",
      { class: "chat" },
      this.history.element,
      shade,
      h("div", { class: "middle" }, this.#head(), this.scroller, this.box.element),
      this.panel.element,
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#toggleHistory(false);
    });
  }

  #head() {
    this.historyButton = iconButton("Conversations", "history", () => this.#toggleHistory(), {
      class: "icon-button only-narrow",
      "aria-controls": "history",
      "aria-expanded": "false",
    });
    const fresh = iconLink("New conversation", "plus", "#/chat", { class: "icon-button only-narrow" });
    return h("div", { class: "chat-head" }, this.historyButton, this.title, fresh, this.panel.button);
  }

  #toggleHistory(open = !this.element.classList.contains("with-history")) {
    const hadFocus = this.history.element.contains(document.activeElement);
    this.element.classList.toggle("with-history", open);
    this.historyButton.setAttribute("aria-expanded", String(open));
    if (open) this.history.element.querySelector("a").focus();
    else if (hadFocus) this.historyButton.focus();
  }

  async open(query) {
    this.history.load();
    this.box.loadFolders();
    // An address only writes into the box: who asks is the person before it.
    if (query.get("q")) this.box.write(query.get("q"));
    else this.box.fit();
    this.#offer(stretchOf(query.get("include")));
    this.box.focus();
    if (this.conversation) await this.#reopen();
    else this.#welcome();
  }

  async #offer(include) {
    if (!include) return;
    const { name } = await call("GET", `/api/documents/${encodeURIComponent(include.document)}`).catch(() => ({}));
    if (!name) return;
    this.#names.set(include.document, name);
    this.box.include([include], this.#includeWords(include));
  }

  #includeWords({ document, first_chunk: first, last_chunk: last }) {
    return `${chunkWords(first, last)} of ${this.#names.get(document) ?? "a document"}`;
  }

  leave() {
    this.#unfollow();
    this.#unwatch();
    this.panel.leave();
  }

  async #welcome() {
    const invitation = h(
      "div",
      { class: "empty" },
      icon("chat"),
      h("h2", {}, "Ask your documents"),
      h("p", {}, "Answers come with their sources, and every citation leads to its place in the document."),
    );
    fill(this.thread, invitation);
    const [library, status] = await Promise.allSettled([firstDocuments(), call("GET", "/api/status")]);
    const suggestions = h("div", { class: "buttons" });
    this.#suggest(suggestions, library.value ?? []);
    if (library.value?.length === 0) this.#awaitDocuments(invitation, suggestions);
    invitation.append(suggestions);
    if (status.value?.chat && !status.value.chat.model) invitation.append(noModel());
  }

  /** Say that there is nothing, until there is: asked for until then, or until somebody talks. */
  async #awaitDocuments(invitation, suggestions) {
    const add = h("a", { class: "button primary", href: "#/library" }, icon("upload"), "Add documents");
    const nothing = [h("p", {}, "There is nothing in your library yet."), add];
    invitation.append(...nothing);
    const { isOver, watch } = await this.#part(import("./jobs.js"));
    if (!watch || !invitation.isConnected) return;
    const look = async (jobs) => {
      const documents = await firstDocuments().catch(() => []);
      if (!documents.length || !invitation.isConnected) return;
      // The others of those that come in together are waited for, too.
      if (documents.length >= SUGGESTED || [...jobs.values()].every(isOver)) this.#unwatch();
      this.#suggest(suggestions, documents);
      if (!add.isConnected) return;
      if (document.activeElement === add) this.box.focus();
      for (const one of nothing) one.remove();
      this.box.loadFolders();
      announce("There are documents to ask now.");
    };
    this.#unwatch = watch(look, { expectant: true });
  }

  /** Those that stand there already stay in their place. */
  #suggest(suggestions, documents) {
    const shown = new Set([...suggestions.children].map((one) => one.dataset.document));
    const others = documents.filter(({ id }) => !shown.has(id)).slice(0, SUGGESTED - shown.size);
    suggestions.append(...others.map((one) => this.#suggestion(one)));
  }

  #suggestion({ id, name }) {
    const click = () => {
      this.box.write(`What is source:${quoted(name)} about?`);
      this.box.submit();
    };
    return h(
      "button",
      { class: "button small", type: "button", "data-document": id, on: { click } },
      h("span", { class: "clip" }, `What is ${name} about?`),
    );
  }

  async #reopen() {
    fill(this.thread, h("p", { class: "waiting" }, "Opening the conversation …"));
    let kept;
    try {
      kept = await call("GET", `/api/conversations/${encodeURIComponent(this.conversation)}`);
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(
        this.thread,
        h(
          "div",
          { class: "empty" },
          icon("history"),
          h("h2", {}, "This conversation is not there"),
          h("p", {}, "It was deleted, or it is somebody else's."),
          h("a", { class: "button", href: "#/chat" }, "New conversation"),
        ),
      );
      this.conversation = "";
      return;
    }
    this.title.textContent = kept.title || "Conversation";
    this.box.choose(kept.folder);
    const asking = underWay(this.conversation, kept.turns.some((turn) => turn.status === "pending"));
    fill(this.thread);
    for (const turn of kept.turns) {
      // The one under way is told by its stream.
      if (asking && turn.status === "pending") continue;
      this.#showKept(turn);
    }
    if (asking) this.#follow(asking);
    else this.#scrollToLast("auto");
  }

  #showKept(turn) {
    for (const { document, name } of turn.record.sources ?? []) this.#names.set(document, name);
    const answer = this.#turn({ message: turn.question, ...bodyOf(turn.record) });
    if (turn.status === "pending") {
      answer.take("error", {
        message: "This answer is being written elsewhere, or was left. Open the conversation again later.",
        transient: false,
      });
      answer.take("over");
      return;
    }
    for (const [kind, data] of recorded(turn)) answer.take(kind, data);
  }

  /** A question in the thread, and its answer that is told what comes. */
  #turn(body, isLive = false) {
    const answer = new Answer(body, {
      isLive,
      read: (one, document, places) => this.#read(one, document, places),
      sources: (one) => this.#showSources(one),
      again: (one, changes) => this.#ask({ ...one.body, ...changes }),
      why: (one) => whyHash(one.body, this.conversation, one.turn),
      found: (one) => {
        if (isLive && this.panel.comesItself()) this.#showSources(one);
      },
    });
    const also = (body.include ?? []).map((one) => this.#includeWords(one));
    const hint = also.length > 0 && h("p", { class: "hint" }, `With ${also.join(", ")}`);
    this.#unwatch();
    this.thread.querySelector(".empty")?.remove();
    this.thread.append(
      h(
        "article",
        { class: "turn" },
        h("h2", { class: "sr-only" }, "Question"),
        h("div", { class: "question" }, body.message, hint),
        answer.element,
      ),
    );
    return answer;
  }

  #ask(body) {
    if (this.#asking) return;
    // What could not be asked was given back.
    if (this.box.text.value.trim() === body.message) this.box.write("");
    // Before the answer begins, so that it is not moved.
    const looking = h("p", { class: "muted" }, "Looking …");
    if (this.panel.comesItself({ overReader: true })) this.panel.show("Sources", looking);
    this.#follow(new Asking({ ...body, conversation: this.conversation || "new" }));
  }

  #follow(asking) {
    const answer = this.#turn(asking.body, true);
    const turn = this.thread.lastElementChild;
    turn.classList.add("current");
    turn.previousElementSibling?.classList.remove("current");
    this.#scrollToLast("smooth");
    this.#setBusy(asking);
    announce("The question is asked.");
    this.#unfollow();
    this.#unfollow = asking.follow((kind, data) => {
      answer.take(kind, data);
      if (kind === "plan" && data.conversation) this.#settle(data.conversation);
      if (kind === "refused" && !answer.plan) this.#giveBack(asking.body.message);
      if (kind === "over") {
        this.#setBusy(null);
        if (answer.found) this.#showNumbers(answer);
        else if (this.panel.comesItself()) this.#showSources(answer);
        this.history.load();
      }
    });
  }

  /** The last question comes to the top; its answer grows below it. */
  #scrollToLast(behavior) {
    const last = this.thread.lastElementChild;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!last) return;
    const top = last.offsetTop - this.scroller.offsetTop - 16;
    this.scroller.scrollTo({ top, behavior: isCalm ? "auto" : behavior });
  }

  /** What could not be asked at all is not lost. */
  #giveBack(message) {
    if (!this.box.text.value) this.box.write(message);
  }

  /** The conversation has an id now: the address should lead to it. */
  #settle(conversation) {
    if (this.conversation === conversation) return;
    this.conversation = conversation;
    const before = location.hash;
    const settle = () => {
      if (location.hash !== before) return;
      history.replaceState(history.state, "", `#/chat/${encodeURIComponent(conversation)}`);
    };
    // Where the panel lies over everything, it has an entry of its own in the browser's history.
    if (history.state?.panel) addEventListener("popstate", settle, { once: true });
    else settle();
    this.title.textContent = this.thread.querySelector(".question").firstChild.data;
  }

  #setBusy(asking) {
    this.#asking = asking;
    this.box.isBusy = Boolean(asking);
  }

  /** What is not needed before the first question: it comes when it is, or a notice that it did not. */
  async #part(loading) {
    try {
      return await loading;
    } catch {
      this.context.notify("A part of the page could not be loaded. Is the server still running?", "bad");
      return {};
    }
  }

  async #showSources(answer) {
    const { sourcesList } = await this.#part(import("./sources.js"));
    if (!sourcesList) return;
    const list = sourcesList(answer.found, {
      read: (document, places, gap) => this.#read(answer, document, places, gap),
      numbersOf: (document) => answer.numbersOf(document),
      isOver: answer.isOver,
      include: (include, name) => this.#again(answer, include, name),
    });
    this.#shown = answer;
    this.panel.show("Sources", list);
  }

  /** While an answer was written its citations were not yet there. */
  async #showNumbers(answer) {
    if (this.#shown !== answer) return;
    const { showNumbers } = await import("./sources.js");
    if (this.#shown === answer) showNumbers(this.panel.body, (document) => answer.numbersOf(document));
  }

  #again(answer, include, name) {
    if (this.#asking) {
      this.context.notify("An answer is being written: stop it, or wait for its end.");
      return;
    }
    this.#names.set(include[0].document, name);
    this.#ask({ ...answer.body, include: [...(answer.body.include ?? []), ...include] });
  }

  async #read(answer, document, places, gap = null) {
    const { Reader } = await this.#part(import("./reader.js"));
    if (!Reader) return;
    const source = answer.sources.find((one) => one.document === document);
    const asked = gap && { gap: `${gap.start}-${gap.end}`, q: answer.body.message, conversation: this.conversation };
    const reader = new Reader(document, {
      places,
      gap,
      context: this.context,
      checksum: source?.checksum,
      include: (include, name) => this.#again(answer, include, name),
    });
    this.panel.show(source?.name ?? "Reader", reader.element, {
      back: () => this.#showSources(answer),
      href: readHash(document, places, asked ?? {}),
      leave: () => reader.leave(),
    });
    reader.open();
  }
}

/** A few that can be asked. */
async function firstDocuments() {
  const { documents } = await call("GET", "/api/documents", { query: { limit: SUGGESTED, state: "live" } });
  return documents;
}

function noModel() {
  const words = "No model is set up, so answers are exact quotes from your documents. To have one write them, set ";
  return h("p", { class: "notice small" }, h("span", { class: "words" }, words, h("code", {}, "chat"), "."));
}

/** What a kept turn was asked with, as far as its record tells. */
function bodyOf({ asked, plan }) {
  return asked ?? (plan && !plan.rag ? { rag_enabled: false } : {});
}
