// Text for the clipboard, with a word on it at the button.

import { announce } from "./dom.js";

async function put(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Over plain http from another machine there is no clipboard but this old one.
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr-only";
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (!isDone) throw new Error("the browser does not let us");
}

/** `tell(words)` says how it went; what is copied is only made now. */
export async function copy(text, tell) {
  try {
    await put(text);
    tell("Copied");
    announce("Copied");
  } catch {
    tell("Not copied");
    announce("The browser does not allow copying.");
  }
}
