// The folders of a library: as links at one side, and as choices where there is no room for that.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { many, number, shortPath } from "./words.js";

export const addressOf = (folder) => (folder ? `#/library/${encodeURIComponent(folder)}` : "#/library");

/** What there is to choose from: all, and each that has a name; the `current` one even if it is empty. */
export function choices(folders, current) {
  const named = folders.filter((one) => one.folder);
  if (current && !named.some((one) => one.folder === current)) named.push({ folder: current, documents: 0, failed: 0 });
  named.sort((a, b) => a.folder.localeCompare(b.folder));
  const documents = folders.reduce((sum, one) => sum + one.documents, 0);
  const failed = folders.reduce((sum, one) => sum + one.failed, 0);
  return [{ folder: "", documents, failed }, ...named];
}

export function links(entries, current) {
  return h("ul", {}, entries.map((one) => link(one, current)));
}

export function options(entries, current) {
  return entries.map((one) => h("option", { value: one.folder, selected: one.folder === current }, `${one.folder || "All"} (${number(one.documents)})`));
}

function link({ folder, documents, failed, sample }, current) {
  const name = folder || "All documents";
  const label = [name, many(documents, "document"), failed && `${number(failed)} failed`, sample && "sample"].filter(Boolean).join(", ");
  return h(
    "li",
    {},
    h(
      "a",
      { href: addressOf(folder), "aria-current": folder === current ? "page" : null, "aria-label": label, title: name },
      icon(folder ? "folder" : "library"),
      h("span", { class: "clip" }, shortPath(name)),
      sample && h("span", { class: "badge" }, "sample"),
      failed > 0 && h("span", { class: "badge bad" }, number(failed)),
      h("span", { class: "count number" }, number(documents)),
    ),
  );
}
