// Which document is being named in a question.

import assert from "node:assert/strict";
import { test } from "node:test";

import { naming, quoted } from "../completion.js";

const typed = (text, caret = text.length) => naming(text, caret)?.typed ?? null;

test("a tag is completed as far as it is typed", () => {
  assert.equal(typed("what does source:har"), "har");
  assert.equal(typed("source:"), "");
  assert.equal(typed('(source:"annual re'), "annual re");
  assert.equal(typed("SOURCE:x behind", 8), "x");
});

test("what is no tag is left alone", () => {
  for (const text of ["resource:x", "source x", "source:x ", 'source:"a b" ', "sources:x", "--source:x"])
    assert.equal(typed(text), null, text);
});

test("what is replaced begins behind the colon", () => {
  assert.equal(naming("a source:bc", 11).start, 9);
  assert.equal(naming('a source:"b c', 13).start, 9);
});

test("a name with spaces, or with signs that would end it, is quoted", () => {
  assert.equal(quoted("report.pdf"), "report.pdf");
  assert.equal(quoted("古池.md"), "古池.md");
  assert.equal(quoted("a b.pdf"), '"a b.pdf"');
  assert.equal(quoted("odd,name."), '"odd,name."');
  assert.equal(quoted('6" pipe.pdf'), '“6" pipe.pdf”');
});
