// Short notices at the edge of the page. What went wrong stays until it is put away.

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";

const SECONDS = 7;
const MOST = 4;

/** `kind` is "info", "good" or "bad". */
export function notify(message, kind = "info") {
  const region = document.getElementById("toasts");
  const away = () => toast.remove();
  const close = h("button", { class: "icon-button", type: "button", "aria-label": "Put this notice away", on: { click: away } }, icon("close"));
  // The role has to be there before the words are, or they are not read out.
  const words = h("p", { role: kind === "bad" ? "alert" : "status" });
  const toast = h("div", { class: `toast ${kind}` }, icon(kind === "bad" ? "warning" : "check"), words, close);
  while (region.childElementCount >= MOST) region.firstElementChild.remove();
  region.append(toast);
  fill(words, message);
  if (kind !== "bad") goLater(toast, away);
}

/** Nothing goes from under a pointer, or from who is at it with the keyboard. */
function goLater(toast, away) {
  let timer = setTimeout(away, SECONDS * 1000);
  const hold = () => clearTimeout(timer);
  const release = () => {
    hold();
    timer = setTimeout(away, (SECONDS / 2) * 1000);
  };
  toast.addEventListener("pointerenter", hold);
  toast.addEventListener("focusin", hold);
  toast.addEventListener("pointerleave", release);
  toast.addEventListener("focusout", release);
}
