// What a deletion left behind, counted: nothing, if all went well.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { many, number } from "./words.js";

const PLACES = [
  ["vectors", "vector", "vectors"],
  ["blobs", "original", "originals"],
  ["cached", "cached vector", "cached vectors"],
  ["catalog", "catalog entry", "catalog entries"],
];

/** "0 vectors, 0 originals, 0 cached vectors, 0 catalog entries" of one receipt or several. */
function left(receipts) {
  return PLACES.map(([field, one, more]) => many(receipts.reduce((sum, it) => sum + (it[field] ?? 0), 0), one, more)).join(", ");
}

/** The same for who hears it. */
export function told(receipts) {
  const what = receipts.length === 1 ? receipts[0].name : many(receipts.length, "document");
  return `Deleted ${what}. Left in the library: ${left(receipts)}.`;
}

/** `receipts` are those of the server, each with the `name` of its document. */
export function receiptNotice(receipts, close) {
  const unclean = receipts.filter((one) => !one.clean);
  const what = receipts.length === 1 ? receipts[0].name : many(receipts.length, "document");
  const [it, itself] = receipts.length === 1 ? ["It", "it"] : ["They", "them"];
  const words = h(
    "div",
    { class: "words" },
    h("p", {}, "Deleted ", h("strong", {}, what), unclean.length ? "." : `. Nothing of ${itself} is left.`),
    h("p", { class: "small muted" }, `Receipt: ${left(receipts)} left.`),
    unclean.length > 0 && h("p", { class: "small" }, `${it} can no longer be found. The rest goes when the server starts again, or with `, h("code", {}, "unchunk doctor --fix"), "."),
    unclean.map((one) => one.problem && h("p", { class: "small error" }, `${one.name}: ${one.problem}`)),
    receipts.length > 1 && each(receipts),
  );
  const away = h("button", { class: "icon-button", type: "button", "aria-label": "Put the receipt away", on: { click: close } }, icon("close"));
  return h("section", { class: `notice ${unclean.length ? "warn" : "good"} receipt`, "aria-label": "Receipt" }, icon(unclean.length ? "warning" : "check"), words, away);
}

function each(receipts) {
  const shown = receipts.slice(0, 200);
  return h(
    "details",
    { class: "small" },
    h("summary", {}, "One by one"),
    h("ul", {}, shown.map((one) => h("li", {}, `${one.name}: ${left([one])}`)), receipts.length > shown.length && h("li", {}, `and ${number(receipts.length - shown.length)} more`)),
  );
}
