// A question in an address, with all that it was asked with, and out of it again.

import assert from "node:assert/strict";
import { test } from "node:test";

import { bodyFrom, stretchOf, whyHash } from "../asked.js";

const read = (hash) => bodyFrom(new URLSearchParams(hash.replace("#/why?", "")));

test("a question comes out of its address as it was asked", () => {
  const body = {
    message: " Which, of 100 % & more #?\n",
    mode: "passages",
    folders: ["a/b", "c, d"],
    names: ["one, two.md", "ü.pdf"],
    documents: ["d1"],
    include: [
      { document: "d:2", first_chunk: 3, last_chunk: 5 },
      { document: "d1", first_chunk: 0, last_chunk: 0 },
    ],
  };
  assert.deepEqual(read(whyHash(body, "c1", 0)), { ...body, conversation: "c1", before_turn: 0 });
  assert.deepEqual(read(whyHash(body, "c1", null)), body);
  assert.deepEqual(read(whyHash(body, "", 3)), body);
});

test("one folder is one of a list, and no documents stay none", () => {
  assert.deepEqual(read(whyHash({ message: "When?", folder: "a", conversation: "new" })), {
    message: "When?",
    mode: "auto",
    folders: ["a"],
  });
  assert.equal(read(whyHash({ message: "When?", rag_enabled: false })).rag_enabled, false);
});

test("an address that makes no sense asks for nothing", () => {
  assert.deepEqual(bodyFrom(new URLSearchParams("mode=odd&turn=x&conversation=c1&include=d:1")), {
    message: "",
    mode: "auto",
  });
  for (const text of [null, "", "d", "d:1-x", ":1-2"]) assert.equal(stretchOf(text), null);
});
