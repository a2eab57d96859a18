// What is said of plans and places, and an answer told again from its record.

import assert from "node:assert/strict";
import { test } from "node:test";

import { recorded } from "../answer.js";
import { chunkWords, headingWords, pageWords, readHash } from "../citation.js";
import { choiceOf, CHOICES, howWords } from "../plan.js";

test("places are told in words", () => {
  assert.equal(pageWords(3, 3), "page 3");
  assert.equal(pageWords(3, 5), "pages 3–5");
  assert.equal(pageWords(null, null), "");
  assert.equal(headingWords(["Fees", "Winter"]), "Fees › Winter");
  assert.equal(chunkWords(4, 4), "chunk 4");
  assert.equal(chunkWords(4, 6), "chunks 4–6");
});

test("an address of the reader holds its places, whatever the id is made of", () => {
  assert.equal(readHash("d1"), "#/read/d1");
  const places = [
    { start: 1, end: 5 },
    { start: 9, end: 12 },
  ];
  assert.equal(readHash("a/b?c#d", places), "#/read/a%2Fb%3Fc%23d?range=1-5&range=9-12");
  assert.equal(readHash("d1", [], { gap: "3-4", q: "" }), "#/read/d1?gap=3-4");
});

test("what was chosen is said with its reasons", () => {
  const plan = { rag: true, mode: "full documents", reasons: ['the word "summarise" asks for detail'] };
  assert.equal(howWords(plan), 'Full documents, chosen automatically: the word "summarise" asks for detail.');
  assert.match(howWords({ rag: true, mode: "passages", reasons: [] }), /^Passages, chosen automatically: nothing/);
  const insisted = { rag: true, mode: "passages", reasons: ["passages were asked for"] };
  assert.equal(howWords(insisted), "Passages, as you chose.");
  assert.equal(howWords({ rag: false }, { rag_enabled: false }), "No documents, as you chose.");
});

test("every choice is told by what is asked with it", () => {
  for (const [name, { body }] of Object.entries(CHOICES)) assert.equal(choiceOf(body), name);
  assert.equal(choiceOf({}), "auto");
});

test("an answer is told again from its record as it was told at first", () => {
  const answer = "It 🏴 is [d1:0] so [d1:1, d1:2].";
  const citations = [
    { at: 8, end: 14, document: "d1", chunk_index: 0 },
    { at: 19, end: 23, document: "d1", chunk_index: 1 },
    { at: 25, end: 29, document: "d1", chunk_index: 2 },
  ];
  const record = { plan: { rag: true }, sources: [], citations, warnings: [], finish: "stop", model: "m" };
  const told = [...recorded({ number: 2, answer, status: "complete", record })];
  const text = told.filter(([kind]) => kind === "token").map(([, data]) => data.text);
  assert.equal(text.join(""), answer);
  assert.equal(text[0], "It 🏴 is [d1:0]");
  assert.deepEqual(
    told.map(([kind]) => kind),
    ["plan", "sources", "token", "citation", "token", "citation", "token", "citation", "token", "done", "over"],
  );
});

test("an answer that did not come to its end says so", () => {
  for (const status of ["stopped", "failed", "interrupted"]) {
    const kinds = [...recorded({ number: 1, answer: "", status, record: {} })].map(([kind]) => kind);
    assert.deepEqual(kinds, ["error", "done", "over"], status);
  }
});
