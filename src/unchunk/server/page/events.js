// A question on its way: the events of its answer as they come, over a line that may break.
// Knows nothing of what is shown.

import { call, Refusal, request } from "./api.js";
import { recall, remember } from "./kept.js";

// After these pauses, in seconds, a broken line is taken up again: the server waits ten for it.
const PAUSES = [0.2, 0.8, 2, 3, 4];
// The server says something every 15 seconds, if only that it is there.
const SILENCE = 40;
const BUSY = [429, 503];
const TRIES = 3;
const LONGEST_WAIT = 30;
const KEPT = "asking";

/** Questions under way, by their conversation: they go on while another view is looked at. */
export const running = new Map();

/** The events in pieces of a stream: `{kind, data, id}`. Comments, which only keep a line open, go. */
export class Reading {
  #decoder = new TextDecoder();
  #text = "";

  /** What is whole with this piece. */
  take(bytes) {
    const found = [];
    const from = Math.max(0, this.#text.length - 1);
    this.#text += this.#decoder.decode(bytes, { stream: true });
    let at = 0;
    for (let end; (end = this.#text.indexOf("\n\n", Math.max(at, from))) >= 0; at = end + 2) {
      const event = parsed(this.#text.slice(at, end));
      if (event) found.push(event);
    }
    this.#text = this.#text.slice(at);
    return found;
  }
}

function parsed(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
  }
  if (!fields.event || fields.data === undefined) return null;
  return { kind: fields.event, data: JSON.parse(fields.data), id: fields.id ?? "" };
}

/**
 * One question. Followers are told the server's events, and ours: `line` (what is wrong with the
 * connection, "" when it is well again), `refused` (a `Refusal`: nothing more comes) and, last of
 * all, `over`.
 */
export class Asking {
  #events = [];
  #followers = new Set();
  #aborter = new AbortController();
  #stream = "";
  #last = "";
  #isStopped = false;
  #patience = 0;
  isOver = false;

  /** `body` is what is asked. With a `stream` it was asked before, and is only read again. */
  constructor(body, stream = "") {
    this.body = body;
    this.conversation = body.conversation === "new" ? "" : body.conversation;
    this.#stream = stream;
    this.#run();
  }

  /** All that came until now, and what comes; what stops that is given back. */
  follow(follower) {
    for (const [kind, data] of this.#events) follower(kind, data);
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  async stop() {
    this.#isStopped = true;
    try {
      if (this.#stream) await call("DELETE", `/api/chat/stream/${this.#stream}`);
      // Its last word comes over the stream, unless the line is broken.
      if (!this.isOver) this.#patience = setTimeout(() => this.#aborter.abort(), this.#stream ? 2000 : 0);
    } catch {
      this.#aborter.abort();
    }
  }

  #tell(kind, data) {
    if (kind !== "line") this.#events.push([kind, data]);
    if (kind === "plan") this.#keep(data.conversation);
    for (const follower of this.#followers) follower(kind, data);
  }

  /** So that it is found again from another view, and after the page was loaded anew. */
  #keep(conversation) {
    if (!conversation) return;
    this.conversation = conversation;
    running.set(conversation, this);
    remember(KEPT, { conversation, body: this.body, stream: this.#stream });
  }

  async #run() {
    // Whoever asks follows first.
    await null;
    try {
      let response = this.#stream ? await this.#resumed() : await this.#begun();
      while (response && !(await this.#isRead(response))) response = await this.#resumed();
    } catch (error) {
      if (!this.#isStopped) this.#tell("refused", error);
      else if (!this.#has("error")) this.#tell("error", { code: "stopped", message: "the answer was stopped" });
    }
    this.isOver = true;
    clearTimeout(this.#patience);
    if (running.get(this.conversation) === this) running.delete(this.conversation);
    if (recall(KEPT)?.conversation === this.conversation) remember(KEPT, null);
    this.#tell("over");
  }

  #has(kind) {
    return this.#events.some(([one]) => one === kind);
  }

  /** A server with too much to do is asked again; it says when. */
  async #begun() {
    for (let tries = 1; ; tries += 1) {
      try {
        const response = await request("POST", "/api/chat/stream", { body: this.body, signal: this.#aborter.signal });
        this.#stream = response.headers.get("X-Stream-ID") ?? "";
        this.#tell("line", "");
        return response;
      } catch (error) {
        const wait = error.retryAfter || 2 * tries;
        if (!BUSY.includes(error.status) || tries >= TRIES || wait > LONGEST_WAIT) throw error;
        this.#tell("line", `The server is busy. Asking again in ${Math.ceil(wait)} seconds.`);
        await this.#pause(wait);
      }
    }
  }

  /** Whether the stream came to its end; if not, the line broke. */
  async #isRead(response) {
    const reader = response.body.getReader();
    const reading = new Reading();
    let ended = false;
    try {
      while (!ended) {
        const { done, value } = await this.#within(SILENCE, reader);
        ended = done;
        for (const { kind, data, id } of value ? reading.take(value) : []) {
          this.#last = id;
          this.#tell(kind, data);
        }
      }
    } catch (error) {
      if (this.#isStopped) throw error;
    }
    return this.#has("done") || (ended && this.#has("error"));
  }

  async #within(seconds, reader) {
    let timer;
    const silence = new Promise((_, refuse) => {
      timer = setTimeout(() => refuse(new Error("silence")), seconds * 1000);
    });
    try {
      return await Promise.race([reader.read(), silence]);
    } catch (error) {
      reader.cancel().catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The rest of the stream; null where nothing is left of it. */
  async #resumed() {
    const headers = this.#last ? { "Last-Event-ID": this.#last } : {};
    for (const seconds of this.#last ? PAUSES : [0, ...PAUSES]) {
      if (seconds >= 1) this.#tell("line", "The line broke. Taking it up again …");
      await this.#pause(seconds);
      try {
        const response = await request("GET", `/api/chat/stream/${this.#stream}`, {
          headers,
          signal: this.#aborter.signal,
        });
        this.#tell("line", "");
        return response.status === 204 ? null : response;
      } catch (error) {
        if (error.name === "AbortError" || error.status === 401) throw error;
        if (error.status === 404 || error.status === 410) break;
      }
    }
    const message = "The line broke, and the rest of the answer did not come.";
    throw new Refusal(0, { type: "line-broken", message });
  }

  #pause(seconds) {
    return new Promise((go, refuse) => {
      const { signal } = this.#aborter;
      const stop = () => refuse(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      setTimeout(() => {
        signal.removeEventListener("abort", stop);
        go();
      }, seconds * 1000);
    });
  }
}

/**
 * The question of a conversation that is under way, also from before the page was loaded. Without
 * `isPending` its answer is kept already, and would be told twice.
 */
export function underWay(conversation, isPending) {
  const known = running.get(conversation);
  if (known) return isPending ? known : null;
  const kept = recall(KEPT);
  if (kept?.conversation !== conversation || !kept.stream) return null;
  if (!isPending) {
    remember(KEPT, null);
    return null;
  }
  return new Asking({ ...kept.body, conversation }, kept.stream);
}
