// Questions that have to be answered before anything else happens.

import { h } from "./dom.js";

/**
 * Whether the person agrees; Escape and a click beside the dialog are a no. The browser keeps the
 * focus inside, and gives it back afterwards.
 */
export function ask(question, { detail = "", action = "Delete", kind = "danger" } = {}) {
  return opened(question, detail && h("p", {}, detail), { action, kind, answer: () => true }).then(Boolean);
}

/** A line of text, or null. */
export function askText(question, { label, action, value = "", maxLength = 200 }) {
  const input = h("input", { class: "input", id: "dialog-text", value, maxLength, required: true, autocomplete: "off", spellcheck: false });
  const field = h("div", { class: "field" }, h("label", { for: "dialog-text" }, label), input);
  return opened(question, field, { action, kind: "primary", answer: () => input.value.trim() || null });
}

function opened(question, body, { action, kind, answer }) {
  return new Promise((settle) => {
    let answered = null;
    const close = () => dialog.close();
    const agree = (event) => {
      event.preventDefault();
      answered = answer();
      close();
    };
    const form = h(
      "form",
      { method: "dialog", on: { submit: agree } },
      h("h2", { id: "dialog-question" }, question),
      body,
      h(
        "div",
        { class: "dialog-buttons" },
        h("button", { class: "button", type: "button", on: { click: close } }, "Cancel"),
        h("button", { class: `button ${kind}`, type: "submit" }, action),
      ),
    );
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "dialog-question" }, form);
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      settle(answered);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
