// How often the server is asked what it works on.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isWhole, lookNow, watch } from "../jobs.js";

/** Look with these replies, one after the other; how long it waits after each. */
async function waits(replies) {
  const found = [];
  const real = globalThis.setTimeout;
  globalThis.document = { hidden: false };
  globalThis.fetch = async () => Response.json({ jobs: replies.shift() });
  globalThis.setTimeout = (_, wait) => found.push(wait);
  const stop = watch(() => {});
  try {
    while (replies.length) await lookNow();
  } finally {
    stop();
    globalThis.setTimeout = real;
  }
  return found;
}

const job = (done, state = "running") => ({ id: "j1", state, done, total: 9 });

test("while nothing changes it is asked more seldom, and at once more often when something does", async () => {
  const same = Array.from({ length: 6 }, () => [job(1)]);
  const found = await waits([...same, [job(2)], [job(2, "done")]]);
  assert.deepEqual(found.slice(0, 7), [800, 1200, 1800, 2700, 3000, 3000, 800]);
});

test("a list of nothing but work may have left some out", () => {
  const list = (count, state) => new Map(Array.from({ length: count }, (_, at) => [at, job(0, state)]));
  assert.equal(isWhole(list(199, "queued")), true);
  assert.equal(isWhole(list(200, "queued")), false);
  assert.equal(isWhole(new Map([...list(200, "queued"), ["x", job(9, "done")]])), true);
});
