// Files on their way to the server, a few at a time. Knows nothing of how they are shown, and goes
// on while other views are looked at.

import { call, learnSession, ownHeaders } from "./api.js";
import * as jobs from "./jobs.js";

const AT_ONCE = 3;
const MOST_TRIES = 4;
const MOST_WAITS = 20;
const WORKING = new Set(["queued", "sending", "indexing"]);

/** @type {Item[]} each `{id, file, name, folder, size, state, sent, tries, document, job, result, error}` */
let items = [];
let next = 1;
let held = "";
let limit = null;
const listeners = new Set();
let stopWatching = null;

/** `listener({items, held})` after each change; the result ends that. */
export function follow(listener) {
  listeners.add(listener);
  listener({ items, held });
  return () => listeners.delete(listener);
}

/** Take files, each `{file, folder}`. */
export function add(files) {
  for (const { file, folder } of files) {
    items.push({ id: next++, file, name: file.name, folder, size: file.size, state: "queued", sent: 0, tries: 0, document: "", job: null, result: "", error: "" });
  }
  pump();
}

export function cancel(item) {
  item.request?.abort();
  if (item.state === "queued" || item.state === "sending") items = items.filter((one) => one !== item);
  pump();
}

export function cancelAll() {
  const gone = items.filter((one) => one.state === "queued" || one.state === "sending");
  items = items.filter((one) => !gone.includes(one));
  for (const one of gone) one.request?.abort();
  held = "";
  pump();
}

export function clearEnded() {
  items = items.filter((one) => WORKING.has(one.state));
  changed();
}

/** Send a file again; one that the server has kept is only read again. */
export async function again(item) {
  item.error = "";
  item.tries = 0;
  if (!item.document) {
    item.state = "queued";
    pump();
    return;
  }
  item.state = "indexing";
  item.job = null;
  changed();
  try {
    item.job = (await call("POST", `/api/documents/${encodeURIComponent(item.document)}/retry`)).job;
    jobs.lookNow();
  } catch (error) {
    fail(item, error.message);
  }
}

/** To be called by who knows that it may go on: signed in again, online again. */
export function goOn() {
  held = "";
  pump();
}

function changed() {
  const running = items.filter((one) => WORKING.has(one.state)).length;
  dispatchEvent(new CustomEvent("under-way", { detail: { running } }));
  for (const listener of [...listeners]) listener({ items, held });
  if (running) {
    stopWatching ??= jobs.watch(followJobs);
  } else {
    stopWatching?.();
    stopWatching = null;
  }
}

function pump() {
  const sending = items.filter((one) => one.state === "sending").length;
  const free = held ? 0 : AT_ONCE - sending;
  for (const item of items.filter((one) => one.state === "queued").slice(0, Math.max(0, free))) send(item);
  changed();
}

async function send(item) {
  item.state = "sending";
  item.sent = 0;
  const most = await largest();
  if (!items.includes(item)) return;
  if (most && item.size > most) {
    fail(item, "It is larger than this server takes: split it, or raise the server's limit.");
    return;
  }
  const form = new FormData();
  form.append("folder", item.folder);
  form.append("wait", "false");
  form.append("file", item.file, item.name);
  // fetch does not tell how much has been sent.
  const request = new XMLHttpRequest();
  item.request = request;
  request.open("POST", "/api/documents");
  for (const [name, value] of Object.entries(ownHeaders())) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", (event) => {
    item.sent = event.lengthComputable ? event.loaded / event.total : 0;
    changed();
  });
  request.addEventListener("load", () => answered(item, request));
  request.addEventListener("error", () => broken(item));
  request.send(form);
}

/** What the server takes at most: it would close the connection on more, without a word we can read. */
async function largest() {
  limit ??= call("GET", "/api/status").then(
    (status) => status.limits?.max_upload ?? 0,
    () => 0,
  );
  return limit;
}

function answered(item, request) {
  item.request = null;
  const body = parsed(request.responseText);
  const { status } = request;
  if (status >= 200 && status < 300) return accepted(item, body);
  if (status === 401) return askForKey(item);
  if (status === 403 && item.tries === 0) return learnAgain(item);
  if (status === 429 || status === 503) return waitAWhile(item, Number(request.getResponseHeader("Retry-After")) || 5);
  return fail(item, body.error?.message ?? `The server answered ${status}.`);
}

function parsed(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    // A proxy in front of the server has its own pages.
    return {};
  }
}

function accepted(item, body) {
  item.document = body.document_id ?? "";
  item.file = null;
  item.job = body.job ?? null;
  item.sent = 1;
  if (item.job) {
    item.state = "indexing";
    take(item, item.job);
    jobs.lookNow();
  } else {
    finish(item, body.result ?? "added", "");
  }
  pump();
}

function requeue(item) {
  item.state = "queued";
  item.sent = 0;
  item.tries += 1;
}

async function askForKey(item) {
  requeue(item);
  if (item.tries >= MOST_TRIES) return fail(item, "The server asks for a key, and does not take the one of this page.");
  held = "signed-out";
  changed();
  // Asked in the usual way, so that the frame hears of it; or it was only that moment.
  return call("GET", "/api/jobs").then(goOn, () => {});
}

/** Another tab may have begun another session. */
async function learnAgain(item) {
  requeue(item);
  await learnSession().catch(() => {});
  pump();
}

function waitAWhile(item, seconds) {
  requeue(item);
  if (item.tries > MOST_WAITS) return fail(item, "The server has too much to do: try again later.");
  held = "busy";
  setTimeout(() => held === "busy" && goOn(), Math.min(seconds, 60) * 1000);
  return changed();
}

function broken(item) {
  item.request = null;
  requeue(item);
  if (!navigator.onLine) {
    held = "offline";
    return changed();
  }
  if (item.tries >= MOST_TRIES) return fail(item, "The server does not answer. Is it still running?");
  held = "unreachable";
  setTimeout(() => held === "unreachable" && goOn(), 1000 * 2 ** item.tries);
  return changed();
}

function fail(item, message) {
  item.state = "failed";
  // Its name stands beside it.
  item.error = message.startsWith(`${item.name}: `) ? message.slice(item.name.length + 2) : message;
  pump();
}

function finish(item, result, error) {
  item.state = result === "failed" ? "failed" : "done";
  item.result = result;
  item.error = error;
}

function take(item, job) {
  item.job = job;
  if (job.state === "failed") finish(item, "failed", job.error || "It could not be read.");
  else if (job.state === "done") finish(item, job.result || "added", "");
  else if (job.state === "waiting") finish(item, "waiting", job.error);
}

function followJobs(current) {
  const isWhole = jobs.isWhole(current);
  for (const item of items) {
    if (item.state !== "indexing" || !item.job) continue;
    const job = current.get(item.job.id);
    if (job) take(item, job);
    // Of very many, only the next ones are told of: one that was, and is not, has ended.
    else if (isWhole || item.wasListed) lookUp(item);
    item.wasListed = Boolean(job);
  }
  changed();
}

/** A job that ended long ago is no longer told of; its document is. */
async function lookUp(item) {
  try {
    const document = await call("GET", `/api/documents/${encodeURIComponent(item.document)}`);
    if (document.state === "failed") finish(item, "failed", document.error);
    else if (document.state === "live") finish(item, "added", "");
    else setTimeout(jobs.lookNow, 3000);
    changed();
  } catch (error) {
    if (error.status === 404) fail(item, "It was deleted meanwhile.");
  }
}

addEventListener("forget", () => {
  cancelAll();
  items = [];
  changed();
});
addEventListener("online", () => held === "offline" && goOn());
addEventListener("beforeunload", (event) => {
  if (items.some((one) => one.state === "queued" || one.state === "sending")) event.preventDefault();
});
