// Calls to the server that this page came from. Knows nothing of what is shown.

import { forget, recall, remember } from "./kept.js";

/** What the server refused, in its own words; `type` is for programs. */
export class Refusal extends Error {
  constructor(status, error, headers) {
    super(error.message ?? `the server answered ${status}`);
    this.status = status;
    this.type = error.type ?? "unknown";
    this.requestId = error.request_id ?? "";
    this.retryAfter = Number(headers?.get("Retry-After") ?? 0);
  }
}

const OWNER = "owner";
let csrf = "";
let owner = null;
let onSignedOut = () => {};
let onAnother = () => {};

/** Whoever shows the page is told when a key is needed. */
export function whenSignedOut(listener) {
  onSignedOut = listener;
}

/** And when somebody else is asking than before: the page has to begin anew. */
export function whenAnother(listener) {
  onAnother = listener;
}

/** Who is asking: `{owner, needs_key, csrf, version}`; learnt at the start and after signing in. */
export async function learnSession() {
  return entered(await call("GET", "/api/session"));
}

export async function signIn(key) {
  return entered(await call("POST", "/api/session", { body: { key } }));
}

export async function signOut() {
  await call("DELETE", "/api/session");
  csrf = "";
  forget();
}

/** What the page holds is one person's: in another's name it goes nowhere, and nothing goes on. */
function entered(session) {
  if (session.owner) {
    if (recall(OWNER) !== session.owner) forget();
    remember(OWNER, session.owner);
    if (owner && owner !== session.owner) {
      csrf = "";
      onAnother();
      return new Promise(() => {});
    }
    owner = session.owner;
  }
  csrf = session.csrf ?? "";
  return session;
}

/** The headers that every request needs; for those who send theirs in another way. */
export function ownHeaders() {
  return csrf ? { "X-CSRF-Token": csrf } : {};
}

/** The JSON that the server answers, or null; a `Refusal` for anything but success. */
export async function call(method, path, { body, query, signal } = {}) {
  const response = await request(method, path, { body, query, signal });
  return response.status === 204 ? null : response.json();
}

/** The same, for who reads the response in another way. */
export async function request(method, path, { body, query, signal, headers = {} } = {}) {
  const url = query ? `${path}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ""))}` : path;
  const sent = { ...ownHeaders(), ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, signal, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, { type: "unreachable", message: "The server does not answer. Is it still running?" });
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // Not from this server: a proxy before it, perhaps.
  }
  if (response.status === 401) onSignedOut();
  return new Refusal(response.status, error, response.headers);
}
