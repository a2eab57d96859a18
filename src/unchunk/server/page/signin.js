// The door: a key opens it.

import { signIn } from "./api.js";
import { fill, h } from "./dom.js";

export async function show(view, parts, query, context) {
  const next = query.get("next")?.startsWith("#/") ? query.get("next") : "#/chat";
  if (context.session.owner) {
    context.go(next);
    return;
  }
  const key = h("input", { class: "input", id: "key", type: "password", required: true, autocomplete: "current-password", spellcheck: false, "aria-describedby": "key-fault" });
  const fault = h("p", { class: "error", id: "key-fault", role: "alert" });
  const enter = h("button", { class: "button primary", type: "submit" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    enter.disabled = true;
    fault.textContent = "";
    try {
      context.enter(await signIn(key.value.trim()));
      context.go(next);
    } catch (error) {
      fault.textContent = wordsFor(error);
      key.setAttribute("aria-invalid", "true");
      key.select();
    } finally {
      enter.disabled = false;
    }
  };
  fill(
    view,
    h(
      "div",
      { class: "page" },
      h(
        "form",
        { class: "card door", on: { submit } },
        h("h1", {}, "Sign in"),
        h("p", {}, "This library opens with a key."),
        h("div", { class: "field" }, h("label", { for: "key" }, "Your key"), h("div", { class: "door-key" }, key, reveal(key)), fault),
        enter,
        h(
          "details",
          {},
          h("summary", {}, "I have no key"),
          h("p", { class: "small" }, "Whoever runs this server makes one, with a name to know it by. It is shown once:"),
          h("pre", {}, h("code", {}, "unchunk keys new NAME")),
        ),
      ),
    ),
  );
  key.focus();
}

function reveal(key) {
  const button = h("button", { class: "button", type: "button", "aria-pressed": "false", "aria-label": "Show the key" }, "Show");
  button.addEventListener("click", () => {
    const isHidden = key.type === "password";
    key.type = isHidden ? "text" : "password";
    button.setAttribute("aria-pressed", String(isHidden));
  });
  return button;
}

function wordsFor(error) {
  if (error.status === 429) return `Too many tries. Wait ${error.retryAfter ? `${error.retryAfter} seconds` : "a little"}, then try again.`;
  if (error.type === "wrong-key") return "This key is not valid: look for a missing character, or ask for a new one.";
  return error.message;
}
