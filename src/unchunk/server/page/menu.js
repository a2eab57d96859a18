// A button that opens a list of things to do. The browser closes it, by Escape or a click beside
// it, and gives the focus back.

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";

/**
 * `actions()` is asked each time it opens: `{label, icon, act}` or `{label, icon, href, download}`,
 * each perhaps with `danger`.
 */
export function menuButton(label, actions) {
  const menu = h("div", { class: "menu", popover: "auto", role: "menu", "aria-label": label });
  const button = h(
    "button",
    { class: "icon-button", type: "button", title: label, "aria-label": label, "aria-haspopup": "menu", popoverTargetElement: menu },
    icon("dots"),
  );
  const hide = () => menu.hidePopover();
  menu.addEventListener("beforetoggle", (event) => {
    if (event.newState === "closed") return removeEventListener("scroll", hide, true);
    fill(menu, actions().filter(Boolean).map((one, at) => item(one, at === 0, hide)));
    place(menu, button.getBoundingClientRect());
    // It would stay where the button was.
    addEventListener("scroll", hide, { capture: true, once: true });
  });
  menu.addEventListener("keydown", (event) => moveFocus(event, menu));
  return h("div", { class: "menu-place" }, button, menu);
}

function item({ label, icon: name, act, href, download = false, danger = false }, isFirst, hide) {
  const given = { role: "menuitem", tabIndex: -1, autofocus: isFirst, class: danger ? "danger" : null };
  if (href) return h("a", { ...given, href, ...(download ? { download: "" } : {}), on: { click: hide } }, icon(name), label);
  const click = () => {
    hide();
    act();
  };
  return h("button", { ...given, type: "button", on: { click } }, icon(name), label);
}

/** Below the button, or above it where there is more room; their right edges meet. */
function place(menu, { top, bottom, right }) {
  const isLow = bottom > innerHeight * 0.6;
  menu.style.right = `${Math.max(8, document.documentElement.clientWidth - right)}px`;
  menu.style.top = isLow ? "auto" : `${bottom + 4}px`;
  menu.style.bottom = isLow ? `${innerHeight - top + 4}px` : "auto";
}

function moveFocus(event, menu) {
  const items = [...menu.children];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
  if (event.key === "Tab") menu.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  items[to % items.length].focus();
}
