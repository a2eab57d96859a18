// Small controls that several views have.

import { h } from "./dom.js";
import { icon } from "./icons.js";

/** A button that is a picture; `label` is for who points at it, and for who cannot see it. */
export function iconButton(label, name, click, more = {}) {
  const given = { class: "icon-button", type: "button", title: label, "aria-label": label, on: { click } };
  return h("button", { ...given, ...more }, icon(name));
}

export function iconLink(label, name, href, more = {}) {
  return h("a", { class: "icon-button", href, title: label, "aria-label": label, ...more }, icon(name));
}

/** A choice of one; `options` are `[value, words]`. */
export function select(options, given) {
  return h(
    "select",
    { class: "select", ...given },
    options.map(([value, words]) => h("option", { value }, words)),
  );
}
