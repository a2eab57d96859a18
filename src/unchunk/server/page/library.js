// The library: folders, what is in them, what became of it; and all that can be done with it.

import { call } from "./api.js";
import { askText } from "./dialog.js";
import { documentTable } from "./documents.js";
import { announce, fill, h } from "./dom.js";
import { addressOf, choices, links, options } from "./folders.js";
import { icon } from "./icons.js";
import * as jobs from "./jobs.js";
import { menuButton } from "./menu.js";
import { receiptNotice, told } from "./receipts.js";
import * as transfer from "./transfer.js";
import { picker, takeDrops, tray } from "./upload.js";
import { many, number } from "./words.js";

const PAGE = 100;
const MOST = 1000;
const STATES = [["", "All"], ["live", "Ready"], ["pending", "In progress"], ["failed", "Failed"]];

export async function show(view, [folder = ""], query, context) {
  const library = new Library(view, folder, query, context);
  try {
    await library.open();
  } catch (error) {
    library.close();
    throw error;
  }
  return () => library.close();
}

const pathOf = (id, rest = "") => `/api/documents/${encodeURIComponent(id)}${rest}`;

class Library {
  constructor(view, folder, query, context) {
    this.context = context;
    this.folder = folder;
    this.q = query.get("q") ?? "";
    this.state = STATES.some(([name]) => name === query.get("state")) ? query.get("state") : "";
    this.limit = PAGE;
    this.folders = [];
    this.documents = [];
    this.total = 0;
    this.look = 0;
    this.ended = null;
    this.receipts = [];
    this.chosen = [];
    this.makeParts(view);
  }

  makeParts(view) {
    const { folder, context } = this;
    const buttons = { folder, notify: context.notify };
    this.tray = tray();
    this.stops = [() => this.tray.stop()];
    this.table = documentTable({
      retry: (document) => this.begin([document.id], "retry"),
      reindex: (document) => this.begin([document.id], "reindex"),
      remove: (document) => this.remove([document]),
      selected: (ids) => this.showChosen(ids),
    });
    this.title = h("h1", { tabIndex: -1 }, folder || "Library");
    this.side = h("nav", { class: "folders", "aria-label": "Folders" });
    this.select = h("select", { class: "select", "aria-label": "Folder", on: { change: () => context.go(addressOf(this.select.value)) } });
    this.notices = h("div", { class: "shelf-notices" });
    this.filter = h("input", { class: "input", type: "search", value: this.q, placeholder: "Filter by name", "aria-label": "Filter by name", autocomplete: "off", spellcheck: false, on: { input: () => this.filterSoon() } });
    this.states = h("div", { class: "segments", role: "radiogroup", "aria-label": "State" });
    this.filters = h("div", { class: "filters" }, this.select, this.filter, this.states);
    this.line = h("div", { class: "list-line" });
    this.list = h("div", { class: "list" });
    const menu = menuButton("More actions", () => [
      { label: "New folder…", icon: "plus", act: () => this.newFolder() },
      folder && { label: "Delete the folder…", icon: "trash", danger: true, act: () => this.removeFolder(folder) },
    ]);
    fill(
      view,
      h(
        "div",
        { class: "page library" },
        this.side,
        h(
          "div",
          { class: "shelf" },
          h(
            "div",
            { class: "page-head" },
            this.title,
            h("div", { class: "head-buttons" }, picker("Add files", { ...buttons, primary: true }), picker("Add a folder", { ...buttons, isFolder: true }), menu),
          ),
          this.notices,
          this.tray.element,
          this.filters,
          this.line,
          this.list,
        ),
      ),
    );
  }

  async open() {
    // What is dropped before the list is there counts, too.
    this.stops.push(takeDrops(this.folder, this.context.notify));
    await this.refresh();
    const onReturn = () => !document.hidden && this.refresh().catch(() => {});
    document.addEventListener("visibilitychange", onReturn);
    this.stops.push(
      jobs.watch((current) => this.heard(current)),
      () => document.removeEventListener("visibilitychange", onReturn),
    );
    transfer.goOn();
  }

  close() {
    this.look += 1;
    clearTimeout(this.timer);
    for (const stop of this.stops) stop();
  }

  async refresh() {
    const mine = ++this.look;
    const query = { folder: this.folder, state: this.state, q: this.q, limit: this.limit };
    const [{ folders }, { documents, total }] = await Promise.all([call("GET", "/api/folders"), call("GET", "/api/documents", { query })]);
    if (mine !== this.look) return;
    Object.assign(this, { folders, documents, total });
    this.draw();
  }

  /** For what was changed by a click: a fault is told, the list stays. */
  async refreshAfter() {
    try {
      await this.refresh();
    } catch (error) {
      this.context.notify(error.message, "bad");
    }
  }

  /** Progress is drawn at once; the list is asked for when something has ended. */
  heard(current) {
    this.jobs = new Map();
    for (const job of current.values()) if (!this.jobs.has(job.document_id)) this.jobs.set(job.document_id, job);
    const ended = [...current.values()].filter(jobs.isOver).map((job) => job.id).sort().join();
    // The first time, only what was under way when the list was asked for may have ended since.
    const isFirst = this.ended === null;
    const isNews = isFirst ? this.documents.some((one) => one.state === "pending") : ended !== this.ended || [...this.jobs.keys()].some((id) => !this.seen.has(id));
    this.ended = ended;
    this.seen = new Set(this.jobs.keys());
    if (isNews) this.refresh().catch(() => {});
    else this.drawList();
  }

  draw() {
    this.drawFolders();
    this.drawStates();
    this.drawNotices();
    this.drawList();
  }

  drawFolders() {
    const entries = choices(this.folders, this.folder);
    this.filters.hidden = !entries[0].documents && !this.folder;
    fill(this.side, h("h2", {}, "Folders"), links(entries, this.folder));
    fill(this.select, options(entries, this.folder));
  }

  drawStates() {
    if (this.states.childElementCount) return;
    const choices = STATES.map(([state, label]) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name: "state", value: state, checked: state === this.state, on: { change: () => this.filterBy({ state }) } }),
        h("span", {}, label),
      ),
    );
    fill(this.states, choices);
  }

  drawNotices() {
    const sample = this.folders.find((one) => one.sample && one.documents);
    const isHere = sample && (!this.folder || this.folder === sample.folder);
    fill(
      this.notices,
      this.progress && h("p", { class: "notice", role: "status" }, this.progress),
      this.receipts.length > 0 && receiptNotice(this.receipts, () => this.putReceiptsAway()),
      isHere && this.sampleNotice(sample),
    );
  }

  sampleNotice({ folder, documents }) {
    return h(
      "section",
      { class: "notice accent", "aria-label": "The sample" },
      icon("library"),
      h("p", { class: "words" }, `${many(documents, "document")} to try things with ${documents === 1 ? "is" : "are"} in the folder `, h("strong", {}, folder), "."),
      h("a", { class: "button small", href: "#/chat" }, "Ask something"),
      h("button", { class: "button small", type: "button", on: { click: () => this.deleteFolder(folder) } }, "Remove the sample"),
    );
  }

  drawList() {
    this.drawLine();
    if (!this.documents.length) {
      fill(this.list, this.emptiness());
      this.table.draw([], () => null, false);
      return;
    }
    this.table.draw(this.documents, (id) => this.jobs?.get(id), !this.folder);
    const left = this.total - this.documents.length;
    const more = left > 0 && this.limit < MOST && h("button", { class: "button", type: "button", on: { click: () => this.showMore() } }, `Show ${number(Math.min(left, PAGE))} more of ${number(left)}`);
    const hint = left > 0 && this.limit >= MOST && h("p", { class: "muted small" }, `${number(left)} more: filter by name to find them.`);
    if (this.table.element.parentElement !== this.list) fill(this.list, this.table.element);
    for (const one of [...this.list.children].slice(1)) one.remove();
    if (more || hint) this.list.append(h("div", { class: "list-more" }, more || hint));
  }

  drawLine() {
    const { chosen } = this;
    if (chosen.length) {
      fill(
        this.line,
        h("strong", {}, `${number(chosen.length)} selected`),
        h("button", { class: "button small", type: "button", on: { click: () => this.reindexChosen() } }, icon("refresh"), "Index again"),
        h("button", { class: "button small", type: "button", on: { click: () => this.removeChosen() } }, icon("trash"), "Delete…"),
        h("button", { class: "icon-button", type: "button", title: "Clear the selection", "aria-label": "Clear the selection", on: { click: () => this.clearChosen() } }, icon("close")),
      );
      return;
    }
    fill(this.line, this.documents.length > 0 && h("p", { class: "muted small" }, many(this.total, "document"), this.isFiltered() ? " found" : ""));
  }

  isFiltered() {
    return Boolean(this.q || this.state);
  }

  emptiness() {
    if (this.isFiltered()) {
      const clear = h("button", { class: "button", type: "button", on: { click: () => this.clearFilter() } }, "Show all");
      return h("div", { class: "empty" }, icon("search"), h("h2", {}, "No document matches"), h("p", {}, "Try a shorter part of its name, or another state."), clear);
    }
    return h(
      "div",
      { class: "empty drop-here" },
      icon("upload"),
      h("h2", {}, this.folder ? "Nothing in this folder yet" : "Add your documents"),
      h("p", {}, `Drop files and folders here, or use the buttons above. ${this.folder ? "A folder is kept once it holds a document." : "PDF, Word, PowerPoint, Excel, Markdown, HTML, text and more; they stay on this server."}`),
    );
  }

  filterSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.filterBy({ q: this.filter.value.trim() }), 200);
  }

  async filterBy(wanted) {
    Object.assign(this, wanted, { limit: PAGE });
    const query = new URLSearchParams(Object.entries({ q: this.q, state: this.state }).filter(([, value]) => value));
    history.replaceState(null, "", `${addressOf(this.folder)}${query.size ? `?${query}` : ""}`);
    await this.refreshAfter();
    announce(this.total ? `${many(this.total, "document")} found` : "No document matches");
  }

  clearFilter() {
    this.filter.value = "";
    for (const radio of this.states.querySelectorAll("input")) radio.checked = !radio.value;
    this.filter.focus();
    return this.filterBy({ q: "", state: "" });
  }

  async showMore() {
    const first = this.documents.length;
    this.limit = Math.min(MOST, this.limit + PAGE);
    await this.refreshAfter();
    this.table.focus(this.documents[first]?.id);
  }

  showChosen(ids) {
    const isSame = ids.length === this.chosen.length;
    this.chosen = ids;
    // Its buttons may have the focus.
    if (!isSame) this.drawLine();
  }

  clearChosen() {
    this.table.clear();
    this.title.focus();
  }

  async newFolder() {
    const name = await askText("New folder", { label: "Name", action: "Open" });
    if (name) this.context.go(addressOf(name.replace(/^\/+|\/+$/g, "")));
  }

  /** `what` is "retry" or "reindex". */
  async begin(ids, what) {
    let begun = 0;
    for (const id of ids) {
      try {
        await call("POST", pathOf(id, `/${what}`));
        begun += 1;
      } catch (error) {
        this.context.notify(error.message, "bad");
        break;
      }
    }
    if (begun) announce(`${many(begun, "document")} ${what === "retry" ? "tried again" : "being indexed again"}`);
    await jobs.lookNow();
    await this.refreshAfter();
  }

  async reindexChosen() {
    const ids = this.documents.filter((one) => this.chosen.includes(one.id) && one.state === "live").map((one) => one.id);
    this.clearChosen();
    if (ids.length) await this.begin(ids, "reindex");
    else this.context.notify("None of them has been indexed yet: retry those that failed.");
  }

  removeChosen() {
    return this.remove(this.documents.filter((one) => this.chosen.includes(one.id)));
  }

  async remove(documents) {
    const isOne = documents.length === 1;
    const agreed = await this.context.confirm(isOne ? `Delete ${documents[0].name}?` : `Delete ${many(documents.length, "document")}?`, {
      detail: `The original, its text, its chunks and all that was made of ${isOne ? "it" : "them"} go. This cannot be undone.`,
      action: "Delete",
    });
    if (!agreed) return;
    const next = isOne && this.table.neighbour(documents[0].id);
    const receipts = [];
    for (const [at, { id, name }] of documents.entries()) {
      if (!isOne) this.tell(`Deleting ${number(at + 1)} of ${number(documents.length)}`);
      try {
        receipts.push({ name, ...(await call("DELETE", pathOf(id))).receipt });
      } catch (error) {
        // Somebody else was quicker.
        if (error.status === 404) continue;
        this.context.notify(`${name}: ${error.message}`, "bad");
        break;
      }
    }
    await this.showReceipts(receipts);
    if (!(next && this.table.focus(next))) this.title.focus();
  }

  async removeFolder(folder) {
    const count = this.folders.find((one) => one.folder === folder)?.documents ?? 0;
    if (!count) return this.context.go("#/library");
    const agreed = await this.context.confirm(`Delete the folder ${folder}?`, {
      detail: `${many(count, "document")} in it ${count === 1 ? "goes" : "go"}, with all that was made of ${count === 1 ? "it" : "them"}. This cannot be undone.`,
      action: "Delete",
    });
    return agreed && this.deleteFolder(folder);
  }

  async deleteFolder(folder) {
    this.tell(`Deleting the folder ${folder}`);
    let receipts = [];
    try {
      ({ receipts } = await call("DELETE", "/api/folders", { query: { folder } }));
    } catch (error) {
      this.context.notify(error.message, "bad");
    }
    await this.showReceipts(receipts);
    this.title.focus();
  }

  tell(progress) {
    this.progress = progress;
    this.drawNotices();
  }

  async showReceipts(receipts) {
    this.progress = "";
    this.receipts = receipts;
    if (receipts.length) announce(told(receipts));
    await this.refreshAfter();
  }

  putReceiptsAway() {
    this.receipts = [];
    this.drawNotices();
    this.title.focus();
  }
}
