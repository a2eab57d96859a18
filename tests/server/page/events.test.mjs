// Events as they come over the line, in whatever pieces, and over a line that breaks.

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { Asking, Reading, running } from "../events.js";

const bytes = (text) => new TextEncoder().encode(text);
const event = (kind, data, number) => `event: ${kind}\ndata: ${JSON.stringify(data)}\nid: s1:${number}\n\n`;
const WHOLE = [
  event("plan", { rag: true, conversation: "c1" }, 1),
  event("token", { text: "It is 🏴." }, 2),
  event("done", { answer: "It is 🏴." }, 3),
];

/** A reply whose body is these pieces; an error among them breaks the line. */
function reply(pieces, { status = 200, headers = {} } = {}) {
  const left = [...pieces];
  const body = new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else if (next instanceof Error) controller.error(next);
      else controller.enqueue(bytes(next));
    },
  });
  return new Response(status === 204 ? null : body, { status, headers: { "X-Stream-ID": "s1", ...headers } });
}

const refusal = (status, type, headers = {}) =>
  new Response(JSON.stringify({ error: { type, message: type } }), { status, headers });

/** Ask with these replies, one after the other; what was fetched, and what followers were told. */
async function asked(replies, during = () => {}) {
  const fetched = [];
  globalThis.fetch = async (url, { method, headers }) => {
    fetched.push([method, url, headers["Last-Event-ID"]]);
    const next = replies.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  const told = [];
  const asking = new Asking({ message: "When?", conversation: "new" });
  await new Promise((over) => {
    asking.follow((kind, data) => {
      told.push([kind, data]);
      during(asking, kind, data);
      if (kind === "over") over();
    });
  });
  return { asking, fetched, kinds: told.map(([kind]) => kind).filter((kind) => kind !== "line"), told };
}

afterEach(() => {
  assert.equal(running.size, 0);
});

test("events are the same in pieces of any size", () => {
  const text = bytes(`: ping\n\n${WHOLE.join(": ping\n\n")}`);
  for (const size of [1, 2, 7, 1000]) {
    const reading = new Reading();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...reading.take(text.slice(at, at + size)));
    assert.deepEqual(
      found.map((one) => one.kind),
      ["plan", "token", "done"],
    );
    assert.equal(found[1].data.text, "It is 🏴.");
    assert.equal(found[2].id, "s1:3");
  }
});

test("an answer is told event by event, and then is over", async () => {
  const { kinds, asking } = await asked([reply(WHOLE)]);
  assert.deepEqual(kinds, ["plan", "token", "done", "over"]);
  assert.equal(asking.conversation, "c1");
  const again = [];
  asking.follow((kind) => again.push(kind));
  assert.deepEqual(again, kinds);
});

test("a broken line is taken up behind the last event", async () => {
  const { kinds, fetched } = await asked([reply([...WHOLE.slice(0, 2), new Error("cut")]), reply(WHOLE.slice(2))]);
  assert.deepEqual(kinds, ["plan", "token", "done", "over"]);
  assert.deepEqual(fetched[1], ["GET", "/api/chat/stream/s1", "s1:2"]);
});

test("a stream that ends too early is a broken line, too", async () => {
  const { kinds } = await asked([reply(WHOLE.slice(0, 1)), reply(WHOLE.slice(1))]);
  assert.deepEqual(kinds, ["plan", "token", "done", "over"]);
});

test("an error ends a stream without an answer", async () => {
  const { kinds, fetched } = await asked([reply([WHOLE[0], event("error", { code: "x", message: "y" }, 2)])]);
  assert.deepEqual(kinds, ["plan", "error", "over"]);
  assert.equal(fetched.length, 1);
});

test("what is no longer kept is said", async () => {
  const { kinds, told } = await asked([reply([WHOLE[0], new Error("cut")]), refusal(410, "gone")]);
  assert.deepEqual(kinds, ["plan", "refused", "over"]);
  assert.equal(told.find(([kind]) => kind === "refused")[1].type, "line-broken");
});

test("a busy server is asked again when it says", async () => {
  const { kinds, fetched, told } = await asked([refusal(429, "too-many", { "Retry-After": "0.01" }), reply(WHOLE)]);
  assert.deepEqual(kinds, ["plan", "token", "done", "over"]);
  assert.equal(fetched.length, 2);
  assert.match(told[0][1], /busy/);
});

test("a server that is busy for long is not waited for", async () => {
  const { kinds, told } = await asked([refusal(503, "unavailable", { "Retry-After": "600" })]);
  assert.deepEqual(kinds, ["refused", "over"]);
  assert.equal(told[0][1].status, 503);
});

test("a question that needs a key is refused", async () => {
  const { kinds, fetched } = await asked([refusal(401, "key-needed")]);
  assert.deepEqual(kinds, ["refused", "over"]);
  assert.equal(fetched.length, 1);
});

test("a question that never arrived is not asked twice by itself", async () => {
  const { kinds, fetched } = await asked([new TypeError("no network")]);
  assert.deepEqual(kinds, ["refused", "over"]);
  assert.equal(fetched.length, 1);
});

test("an answer is stopped at the server, whose last word is told", async () => {
  const stopped = event("error", { code: "stopped", message: "the answer was stopped" }, 3);
  let push;
  const body = new ReadableStream({ start: (controller) => (push = controller) });
  push.enqueue(bytes(WHOLE[0]));
  const live = new Response(body, { headers: { "X-Stream-ID": "s1" } });
  const { kinds, fetched } = await asked([live, new Response(null, { status: 204 })], (asking, kind) => {
    if (kind !== "plan") return;
    asking.stop();
    push.enqueue(bytes(stopped));
    push.close();
  });
  assert.deepEqual(kinds, ["plan", "error", "over"]);
  assert.deepEqual(fetched[1].slice(0, 2), ["DELETE", "/api/chat/stream/s1"]);
});
