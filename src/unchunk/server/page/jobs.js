// What the server is working on, asked again and again while somebody listens and work goes on.

import { call } from "./api.js";

const SOON = 800;
// While nothing changes, it is asked more and more seldom, up to this.
const SLOW = 3_000;
const LATER = 5_000;
// As many as the server tells of at once: those that are to be done first, then those that ended.
const LISTED = 200;
// Each with whether it wants to know also while nothing is under way.
const listeners = new Map();
let timer = 0;
let asking = null;
let last = "";
let patience = SOON;

export function isOver(job) {
  return job.state === "done" || job.state === "failed";
}

/** Whether no job that is to be done was left out. */
export function isWhole(jobs) {
  return jobs.size < LISTED || [...jobs.values()].some(isOver);
}

/**
 * `listener(jobs)` is called after each look; the result ends that. Who is `expectant` has it looked
 * also while nothing is under way: something may be about to begin, or come in without a job.
 */
export function watch(listener, { expectant = false } = {}) {
  listeners.set(listener, expectant);
  lookNow();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) clearTimeout(timer);
  };
}

/** To be called after something was begun. */
export async function lookNow() {
  // One that is under way was asked before that.
  await asking;
  asking ??= look().finally(() => {
    asking = null;
  });
  return asking;
}

async function look() {
  clearTimeout(timer);
  let wait = LATER;
  let jobs = null;
  try {
    const told = await call("GET", "/api/jobs");
    jobs = new Map(told.jobs.map((job) => [job.id, job]));
    const now = JSON.stringify(told.jobs);
    patience = now === last ? Math.min(patience * 1.5, SLOW) : SOON;
    last = now;
    wait = pause(jobs);
  } catch (error) {
    // Signed out: whoever signs in again begins again. Any other trouble passes.
    if (error.status === 401) wait = 0;
  }
  if (jobs) for (const listener of [...listeners.keys()]) listener(jobs);
  if (wait && listeners.size) timer = setTimeout(lookNow, document.hidden ? Math.max(wait, LATER) : wait);
}

/** Nothing is asked for while nothing is under way, unless somebody expects it. */
function pause(jobs) {
  const open = [...jobs.values()].filter((job) => !isOver(job));
  if (!open.length) return [...listeners.values()].some(Boolean) ? patience : 0;
  return open.some((job) => job.state !== "waiting") ? patience : LATER;
}

const STAGES = { read: "Reading", extracted: "Preparing", embedding: "Indexing", done: "Finishing" };

/** What a job is at, in a word or two. */
export function stageOf(job) {
  if (job.state === "queued") return "Queued";
  if (job.state === "waiting") return job.error || "Waiting for what it needs";
  return STAGES[job.stage] ?? "Working";
}

/** How far a job is, between 0 and 1; null where nobody knows. */
export function shareOf(job) {
  return job.state === "running" && job.total > 0 ? job.done / job.total : null;
}
