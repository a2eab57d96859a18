// The table of documents. Rows are kept from one drawing to the next, so that nobody loses their
// place while work goes on.

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { isOver, shareOf, stageOf } from "./jobs.js";
import { menuButton } from "./menu.js";
import { many, moment, number, sentence, shortPath, size } from "./words.js";

const COLUMNS = [["Folder", "in"], ["State", "state"], ["Pages", "pages"], ["Chunks", "chunks"], ["Size", "size"], ["Added", "added"]];

/**
 * `actions` has `retry(document)`, `reindex(document)`, `remove(document)` and `selected(ids)`,
 * which is told of each change of what is chosen.
 */
export function documentTable(actions) {
  const rows = new Map();
  const chosen = new Set();
  const all = h("input", { type: "checkbox", "aria-label": "Select all", on: { change: () => chooseAll(all.checked) } });
  const body = h("tbody", { role: "rowgroup" });
  const head = h(
    "thead",
    { role: "rowgroup" },
    h(
      "tr",
      { role: "row" },
      h("td", { class: "pick", role: "cell" }, h("label", {}, all)),
      heading("Name", "name"),
      COLUMNS.map(([label, name]) => heading(label, name)),
      h("td", { class: "do", role: "cell" }),
    ),
  );
  const element = h("table", { class: "documents", role: "table", "aria-label": "Documents" }, head, body);

  function chooseAll(isOn) {
    for (const id of rows.keys()) {
      if (isOn) chosen.add(id);
      else chosen.delete(id);
    }
    showChosen();
  }

  function showChosen() {
    for (const [id, row] of rows) row.choose(chosen.has(id));
    all.checked = rows.size > 0 && chosen.size === rows.size;
    all.indeterminate = chosen.size > 0 && !all.checked;
    actions.selected([...chosen]);
  }

  function choose(id, isOn) {
    if (isOn) chosen.add(id);
    else chosen.delete(id);
    showChosen();
  }

  return {
    element,
    /** `jobOf(id)` is the job that is about a document now, if any. */
    draw(documents, jobOf, withFolder) {
      element.classList.toggle("one-folder", !withFolder);
      const ids = new Set(documents.map((one) => one.id));
      for (const id of [...rows.keys()]) if (!ids.has(id)) rows.delete(id);
      for (const id of [...chosen]) if (!ids.has(id)) chosen.delete(id);
      const elements = documents.map((document) => {
        const row = rows.get(document.id) ?? makeRow(document.id, choose, actions);
        rows.set(document.id, row);
        row.update(document, jobOf(document.id));
        return row.element;
      });
      if (elements.length !== body.childElementCount || elements.some((one, at) => body.children[at] !== one)) place(body, elements);
      showChosen();
    },
    clear() {
      chosen.clear();
      showChosen();
    },
    /** Where the keyboard goes on when a row has gone: the next one, or the one before. */
    neighbour(id) {
      const row = rows.get(id)?.element;
      return (row?.nextElementSibling ?? row?.previousElementSibling)?.dataset.id;
    },
    focus(id) {
      const button = rows.get(id)?.element.querySelector(".do button");
      button?.focus();
      return Boolean(button);
    },
  };
}

/** Put rows in order without taking out those that stay: what has the focus keeps it. */
function place(body, elements) {
  const wanted = new Set(elements);
  for (const one of [...body.children]) if (!wanted.has(one)) one.remove();
  elements.forEach((one, at) => {
    if (body.children[at] !== one) body.insertBefore(one, body.children[at] ?? null);
  });
}

function heading(label, name) {
  return h("th", { scope: "col", role: "columnheader", class: name }, label);
}

function makeRow(id, choose, actions) {
  const box = h("input", { type: "checkbox", on: { change: () => choose(id, box.checked) } });
  const kind = h("span", { class: "kind", "aria-hidden": "true" });
  const name = h("div", { class: "doc" });
  const cells = COLUMNS.map(([, column]) => h("td", { class: `${column} number`, role: "cell" }));
  const menu = h("td", { class: "do", role: "cell" });
  const element = h(
    "tr",
    { role: "row", "data-id": id },
    h("td", { class: "pick", role: "cell" }, h("label", {}, box)),
    h("th", { scope: "row", role: "rowheader", class: "name" }, h("div", { class: "name-line" }, kind, name)),
    cells,
    menu,
  );
  let before = "";
  let menuName = "";
  return {
    element,
    choose(isOn) {
      box.checked = isOn;
      element.classList.toggle("chosen", isOn);
    },
    update(document, job) {
      const working = job && !isOver(job) ? job : null;
      const now = JSON.stringify([document, working]);
      if (now === before) return;
      const wasFocused = name.contains(globalThis.document.activeElement);
      before = now;
      box.setAttribute("aria-label", `Select ${document.name}`);
      kind.textContent = kindOf(document.name);
      fill(name, nameOf(document), underName(document, working, actions));
      if (wasFocused) name.querySelector("a, button")?.focus();
      const shown = [
        folderLink(document.folder),
        stateOf(document, working),
        document.page_count ? number(document.page_count) : "",
        document.chunk_count ? number(document.chunk_count) : "",
        document.size ? size(document.size) : "",
        moment(document.created_at),
      ];
      cells.forEach((cell, at) => fill(cell, shown[at]));
      element.actions = () => actionsFor(document, working, actions);
      if (menuName !== document.name) fill(menu, menuButton(`Actions for ${document.name}`, () => element.actions()));
      menuName = document.name;
    },
  };
}

function kindOf(name) {
  const ending = /\.([a-z0-9]{1,5})$/i.exec(name)?.[1] ?? "file";
  return ending.toUpperCase();
}

function nameOf(document) {
  if (document.state !== "live") return h("span", { class: "title" }, document.name);
  return h("a", { class: "title", href: `#/read/${encodeURIComponent(document.id)}` }, document.name);
}

function folderLink(folder) {
  return folder && h("a", { class: "in-folder", href: `#/library/${encodeURIComponent(folder)}`, title: folder }, shortPath(folder, 15));
}

function underName(document, working, actions) {
  const facts = [
    folderLink(document.folder),
    document.page_count && many(document.page_count, "page"),
    document.chunk_count && many(document.chunk_count, "chunk"),
    document.size && size(document.size),
    moment(document.created_at),
  ];
  return [
    // For narrow screens, which have no columns.
    h("span", { class: "sub doc-facts" }, facts.filter(Boolean).map((fact) => h("span", {}, fact))),
    document.error && !working && reason(document, actions),
    document.notes.map((note) => h("span", { class: "sub" }, note)),
  ];
}

function reason(document, actions) {
  const words = document.state === "live" ? `The newer version could not be read: ${document.error}` : sentence(document.error);
  const retry = h("button", { class: "link", type: "button", "aria-label": `Try ${document.name} again`, on: { click: () => actions.retry(document) } }, "Retry");
  return h("span", { class: "sub error" }, icon("warning"), words, " ", retry);
}

function stateOf(document, working) {
  if (working) {
    const share = shareOf(working);
    const meter = working.state === "running" && h("progress", { max: 1, "aria-label": `Progress of ${document.name}`, ...(share === null ? {} : { value: share }) });
    return h("span", { class: "working" }, h("span", {}, working.state === "waiting" ? "Waiting" : stageOf(working)), meter);
  }
  if (document.state === "failed") return h("span", { class: "badge bad" }, icon("warning"), "Failed");
  if (document.state === "pending") return h("span", { class: "badge warn" }, icon("clock"), "Waiting");
  if (document.error) return h("span", { class: "badge warn" }, icon("warning"), "Old version");
  return h("span", { class: "ready" }, icon("check"), "Ready");
}

function actionsFor(document, working, actions) {
  const path = `/api/documents/${encodeURIComponent(document.id)}`;
  const isLive = document.state === "live";
  return [
    isLive && { label: "Open in the reader", icon: "read", href: `#/read/${encodeURIComponent(document.id)}` },
    document.size > 0 && { label: "Download the original", icon: "download", href: `${path}/original`, download: true },
    document.error && !working && { label: "Retry", icon: "refresh", act: () => actions.retry(document) },
    isLive && !working && { label: "Index again", icon: "refresh", act: () => actions.reindex(document) },
    { label: "Delete…", icon: "trash", danger: true, act: () => actions.remove(document) },
  ];
}
