// A question with all that it is asked with, in an address and out of it again.

import { CHOICES, choiceOf } from "./plan.js";

// In an address, and in the body of a question.
const LISTS = { folder: "folders", name: "names", document: "documents" };

/** Where to look into a question: with its `turn`, as it was asked in its conversation. */
export function whyHash(body, conversation = "", turn = null) {
  const query = new URLSearchParams({ q: body.message, mode: choiceOf(body) });
  if (body.folder) query.append("folder", body.folder);
  for (const [name, list] of Object.entries(LISTS)) for (const one of body[list] ?? []) query.append(name, one);
  for (const one of body.include ?? []) query.append("include", stretchWords(one));
  // What was said before it decides, too; of the first, the conversation's folder.
  if (conversation && turn !== null) {
    query.set("conversation", conversation);
    query.set("turn", turn);
  }
  return `#/why?${query}`;
}

/** The body of the question in such an address. */
export function bodyFrom(query) {
  const body = { message: query.get("q") ?? "", ...(CHOICES[query.get("mode")] ?? CHOICES.auto).body };
  for (const [name, list] of Object.entries(LISTS)) if (query.has(name)) body[list] = query.getAll(name);
  const include = query.getAll("include").map(stretchOf).filter(Boolean);
  if (include.length) body.include = include;
  if (query.get("conversation") && /^\d{1,9}$/.test(query.get("turn") ?? "")) {
    body.conversation = query.get("conversation");
    body.before_turn = Number(query.get("turn"));
  }
  return body;
}

const stretchWords = ({ document, first_chunk: first, last_chunk: last }) => `${document}:${first}-${last}`;

/** Chunks, from an address: `document:first-last`; null where it says anything else. */
export function stretchOf(text) {
  const found = /^(.+):(\d{1,7})-(\d{1,7})$/.exec(text ?? "");
  return found && { document: found[1], first_chunk: Number(found[2]), last_chunk: Number(found[3]) };
}
