// `source:` in a question names a document: what was typed behind it is completed from the library.

import { call } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { many } from "./words.js";

const TAG = /(?:^|[\s([,;])source:(?:"([^"\n]{0,200})|([^\s"]{0,200}))$/i;
const MOST = 8;
const PAUSE = 120;
const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_.\-/]*[\p{L}\p{N}_]$/u;

/** What is being named before the caret: `{start, typed}`, or null. */
export function naming(text, caret) {
  const before = text.slice(0, caret);
  const found = TAG.exec(before.slice(-260));
  if (!found) return null;
  const typed = found[1] ?? found[2];
  const start = caret - typed.length - (found[1] === undefined ? 0 : 1);
  return { start, typed };
}

/** A name as it can stand behind `source:`; one with spaces, or with signs that end it, in quotes. */
export function quoted(name) {
  if (PLAIN.test(name)) return name;
  return name.includes('"') ? `“${name}”` : `"${name}"`;
}

/** The list belongs into `place`, which stands near the box. */
export function complete(box, place) {
  const list = h("ul", {
    class: "completion",
    id: "completion",
    role: "listbox",
    "aria-label": "Documents",
    hidden: true,
  });
  place.append(list);
  let options = [];
  let chosen = -1;
  let turn = 0;
  let timer = 0;
  let target = null;
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-haspopup", "listbox");
  box.setAttribute("aria-controls", "completion");

  const hide = () => {
    turn += 1;
    clearTimeout(timer);
    list.hidden = true;
    options = [];
    box.removeAttribute("aria-activedescendant");
  };

  const choose = (at) => {
    chosen = (at + options.length) % options.length;
    [...list.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === chosen)));
    list.children[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", `completion-${chosen}`);
  };

  const take = () => {
    const { name, folder } = options[chosen];
    // One of several of that name is told by its folder.
    const isAlone = options.filter((one) => one.name === name).length === 1;
    const written = quoted(isAlone || !folder ? name : `${folder}/${name}`);
    const end = box.selectionStart;
    const rest = box.value.slice(end);
    box.setRangeText(`${written}${/^\s/.test(rest) ? "" : " "}`, target.start, end, "end");
    hide();
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };

  const item = ({ name, folder }, at) => {
    const pick = (event) => {
      // The box keeps the focus.
      event.preventDefault();
      choose(at);
      take();
    };
    return h(
      "li",
      { id: `completion-${at}`, role: "option", "aria-selected": "false", on: { pointerdown: pick } },
      h("span", { class: "clip" }, name),
      folder && h("span", { class: "muted small clip" }, folder),
    );
  };

  const look = async () => {
    const mine = ++turn;
    try {
      const { documents } = await call("GET", "/api/documents", {
        query: { q: target.typed, state: "live", limit: MOST },
      });
      if (mine !== turn) return;
      // Meanwhile the question may have been asked.
      options = naming(box.value, box.selectionStart) ? documents.slice(0, MOST) : [];
    } catch {
      // Who types on has lost nothing.
      options = [];
    }
    if (options.length === 0) return hide();
    fill(list, options.map(item));
    list.hidden = false;
    choose(0);
    announce(`${many(options.length, "document")} to choose from`);
  };

  box.addEventListener("input", () => {
    target = naming(box.value, box.selectionStart);
    if (!target) return hide();
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  });
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    const act = {
      ArrowDown: () => choose(chosen + 1),
      ArrowUp: () => choose(chosen - 1),
      Enter: take,
      Tab: take,
      Escape: hide,
    }[event.key];
    if (!act || event.shiftKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  });
}
