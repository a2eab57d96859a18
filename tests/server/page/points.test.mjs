// Places in texts, as the server counts them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { lastUpTo, parts, Points } from "../points.js";

const FLAG = "🏴";

test("a character outside the first plane counts once", () => {
  assert.equal(new Points(`a${FLAG}b`).length, 3);
  assert.equal(new Points(`a${FLAG}b`).slice(2, 3), "b");
  assert.equal(new Points(`a${FLAG}b`).slice(1, 2), FLAG);
});

test("half a character counts once, too", () => {
  assert.equal(new Points("a\ud83cb").length, 3);
  assert.equal(new Points("\udff4\ud83c").length, 2);
});

test("every slice is what the code points of the text say", () => {
  // Longer than the distance of the marks that places are found by, and mixed.
  const text = Array.from({ length: 5000 }, (_, at) => (at % 7 ? String.fromCharCode(97 + (at % 26)) : FLAG)).join("");
  const signs = [...text];
  const points = new Points(text);
  assert.equal(points.length, signs.length);
  for (const [start, end] of [
    [0, 1],
    [1023, 1025],
    [2048, 2048],
    [4990, 5000],
    [0, 5000],
    [700, 3400],
  ]) {
    assert.equal(points.slice(start, end), signs.slice(start, end).join(""));
  }
});

test("places outside a text are its ends", () => {
  const points = new Points(`${FLAG}b`);
  assert.equal(points.slice(-5, 99), `${FLAG}b`);
  assert.equal(points.slice(9, 12), "");
  assert.equal(new Points("").slice(0, 4), "");
});

test("ranges cut a text wherever one begins or ends", () => {
  const ranges = [
    { start: 2, end: 6 },
    { start: 4, end: 8 },
    { start: 5, end: 5 },
  ];
  assert.deepEqual(parts(0, 10, ranges), [
    { start: 0, end: 2, inside: [] },
    { start: 2, end: 4, inside: [0] },
    { start: 4, end: 6, inside: [0, 1] },
    { start: 6, end: 8, inside: [1] },
    { start: 8, end: 10, inside: [] },
  ]);
});

test("a range beyond a slice is cut with it", () => {
  assert.deepEqual(parts(10, 20, [{ start: 0, end: 99 }]), [{ start: 10, end: 20, inside: [0] }]);
  assert.deepEqual(
    parts(10, 20, [
      { start: 0, end: 10 },
      { start: 20, end: 30 },
    ]),
    [{ start: 10, end: 20, inside: [] }],
  );
  assert.deepEqual(parts(5, 5, [{ start: 0, end: 9 }]), []);
});

test("the parts are the whole, in order, whatever the ranges are", () => {
  let seed = 7;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 200; round += 1) {
    const ranges = Array.from({ length: random(8) }, () => {
      const start = random(60);
      return { start, end: start + random(30) };
    });
    const found = parts(10, 50, ranges);
    let at = 10;
    for (const { start, end, inside } of found) {
      assert.equal(start, at);
      assert.ok(start < end);
      for (let place = start; place < end; place += 1) {
        const holding = ranges.flatMap((one, number) => (one.start <= place && place < one.end ? [number] : []));
        assert.deepEqual(inside, holding);
      }
      at = end;
    }
    assert.equal(at, 50);
  }
});

test("the last of rising numbers that is not above another", () => {
  assert.equal(lastUpTo([0, 10, 10, 30], 10), 2);
  assert.equal(lastUpTo([5], 4), -1);
  assert.equal(lastUpTo([], 4), -1);
  assert.equal(
    lastUpTo([{ at: 1 }, { at: 9 }], 20, (one) => one.at),
    1,
  );
});
