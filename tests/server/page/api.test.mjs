// Who is asking: what one person left in the page is not the next one's.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { learnSession, ownHeaders, signIn, signOut, whenAnother } from "../api.js";

const kept = new Map();
Object.defineProperty(globalThis, "sessionStorage", {
  value: {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: (name) => kept.delete(name),
    clear: () => kept.clear(),
  },
});
let session = {};
let anew = 0;
globalThis.fetch = async (_, { method }) =>
  method === "DELETE" ? new Response(null, { status: 204 }) : Response.json(session);
whenAnother(() => (anew += 1));

/** Whether this came to its end at all. */
const settled = (work) =>
  Promise.race([work.then(() => true), new Promise((go) => setTimeout(() => go(false), 20))]);

beforeEach(async () => {
  session = { owner: "anna", csrf: "of anna" };
  await learnSession();
  kept.set("draft of anna", '"something"');
  anew = 0;
});

test("whoever comes back finds what was left", async () => {
  session = { owner: null, csrf: "" };
  await learnSession();
  session = { owner: "anna", csrf: "of anna again" };
  assert.equal((await signIn("key")).owner, "anna");
  assert.equal(kept.get("draft of anna"), '"something"');
  assert.deepEqual([anew, ownHeaders()], [0, { "X-CSRF-Token": "of anna again" }]);
});

test("whoever else comes finds nothing, and nothing goes on in that name", async () => {
  for (const enter of [() => signIn("key"), learnSession]) {
    session = { owner: "berta", csrf: "of berta" };
    anew = 0;
    assert.equal(await settled(enter()), false);
    assert.equal(anew, 1);
    assert.deepEqual([...kept], [["owner", '"berta"']]);
    assert.deepEqual(ownHeaders(), {});
  }
});

test("signing out leaves nothing", async () => {
  await signOut();
  assert.deepEqual([kept.size, ownHeaders()], [0, {}]);
});
