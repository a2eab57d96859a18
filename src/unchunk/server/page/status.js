// How the server is, in words.

import { call } from "./api.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { duration, many, number, sentence, size } from "./words.js";

const EVERY = 5_000;
const PARTS = {
  catalog: ["Catalog", "knows your documents and conversations"],
  index: ["Index", "finds passages"],
  embedder: ["Embedder", "turns text into what the index compares"],
  chat: ["Language model", "writes the answers"],
};
/** What is counted, for who has never seen the code; all else is shown under its own name. */
const COUNTERS = {
  searches: "Searches",
  answers_complete: "Answers",
  files_added: "Files added",
  files_replaced: "Files replaced",
  files_linked: "Files already there under another name",
  files_unchanged: "Files already there",
  files_failed: "Files that failed",
  files_waiting: "Files that had to wait",
  deleted_documents: "Documents deleted",
  chunks: "Chunks made",
  embedded_chunks: "Chunks embedded",
  cache_hits: "Chunks that needed no embedding",
  embedding_calls: "Batches of chunks embedded",
  question_cache_hits: "Questions asked before",
  evidence_cache_hits: "Evidence found before",
  chat_calls: "Calls of the language model",
  chat_failures: "Calls of the language model that failed",
};

export async function show(view, parts, query, context) {
  const body = h("div", { class: "status-body" });
  let timer = 0;
  let isOpen = true;
  async function look() {
    try {
      draw(body, await call("GET", "/api/status"));
    } catch (error) {
      if (!body.childElementCount) throw error;
      if (error.status === 401) return;
      fill(body, fault(error));
    }
    if (isOpen) timer = setTimeout(look, document.hidden ? EVERY * 6 : EVERY);
  }
  fill(view, h("div", { class: "page status" }, h("h1", {}, "Status"), body));
  await look();
  return () => {
    isOpen = false;
    clearTimeout(timer);
  };
}

function fault(error) {
  return h("section", { class: "notice bad" }, icon("warning"), h("div", { class: "words" }, h("h2", {}, "The server does not answer as it should"), h("p", {}, error.message)));
}

function draw(body, status) {
  const sections = [
    summary(status),
    h("div", { class: "status-grid" }, h("div", {}, health(status), engine(status)), h("div", {}, library(status), counters(status))),
  ];
  // Told again only where it is news.
  const said = sections[0].textContent;
  const before = body.querySelector(".summary");
  if (before?.textContent === said) sections[0] = before;
  fill(body, sections);
}

function summary({ health: parts, uptime_seconds: uptime, version }) {
  const ill = Object.entries(parts).filter(([, part]) => !part.ok);
  const words = ill.length ? `The ${ill.map(([name]) => labelOf(name).toLowerCase()).join(" and the ")} ${ill.length === 1 ? "needs" : "need"} attention` : "Everything works";
  return h(
    "section",
    { class: `notice summary ${ill.length ? "warn" : "good"}`, role: "status" },
    icon(ill.length ? "warning" : "check"),
    h("div", { class: "words" }, h("h2", {}, words), h("p", { class: "small muted" }, `unchunk ${version}, up for ${duration(uptime)}`)),
  );
}

function labelOf(name) {
  return PARTS[name]?.[0] ?? name;
}

function health({ health: parts, chat }) {
  const entries = Object.entries(parts).map(([name, { ok, reason }]) => {
    const word = !ok ? "Does not answer" : name === "chat" && !chat.model ? "Not set up" : "Works";
    return h(
      "li",
      {},
      h("div", {}, h("h3", {}, labelOf(name)), h("p", { class: "small muted" }, PARTS[name]?.[1] ?? "")),
      h("span", { class: `badge ${!ok ? "bad" : word === "Works" ? "good" : ""}` }, word !== "Not set up" && icon(ok ? "check" : "warning"), word),
      reason && h("p", { class: ok ? "small" : "error" }, sentence(reason)),
    );
  });
  return h("section", { class: "card" }, h("h2", {}, "Parts"), h("ul", { class: "parts" }, entries));
}

function library({ library: counts, streams }) {
  const figures = [
    ["Documents", counts.documents],
    ["Chunks", counts.chunks],
    ["On their way in", counts.pending],
    ["Failed", counts.failed],
    ["Answering now", streams?.running ?? 0],
  ];
  return h(
    "section",
    { class: "card" },
    h("h2", {}, "Your library"),
    h("dl", { class: "figures" }, figures.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", { class: "number" }, number(value))))),
    counts.failed > 0 && h("a", { class: "small", href: "#/library?state=failed" }, "Show what failed, and why"),
  );
}

function engine({ embedder, index, chat, chunking, limits }) {
  return facts("Engine", [
    ["Embedder", embedder.name],
    embedder.dimensions && ["Its vectors", many(embedder.dimensions, "number")],
    embedder.max_tokens && ["Its longest text", many(embedder.max_tokens, "token")],
    embedder.min_score && ["Match threshold", embedder.min_score.toFixed(2)],
    ["Index", index.kind],
    ["Language model", chat.model || "none: answers are quotes"],
    chat.window && ["Its window", many(chat.window, "token")],
    ["Documents are cut", cut(chunking)],
    ["Largest file", size(limits.max_upload)],
    ["Largest request", size(limits.max_body)],
  ]);
}

function counters({ counters: counts, seconds, operator }) {
  if (!operator) return h("section", { class: "card" }, h("h2", {}, "Since the start"), h("p", { class: "small muted" }, "Figures of the whole server are for its operator."));
  const names = [...Object.keys(COUNTERS).filter((name) => name in counts), ...Object.keys(counts).filter((name) => !(name in COUNTERS))];
  const rows = names.map((name) => [COUNTERS[name] ?? plain(name), number(counts[name])]);
  const times = Object.entries(seconds ?? {}).map(([name, value]) => [`Time: ${name.replaceAll("_", " ")}`, spent(value)]);
  return facts("Since the start", [...rows, ...times].length ? [...rows, ...times] : [["Nothing has happened yet", ""]]);
}

/** "800/0 chars by markdown", for who has not written it. */
function cut(chunking) {
  const [, most, overlap, unit, boundaries] = /^(\d+)\/(\d+) (\w+) by (\w+)$/.exec(chunking) ?? [];
  if (!most) return chunking;
  return `every ${number(most)} ${unit}${overlap === "0" ? "" : `, ${number(overlap)} twice`}, at ${boundaries} boundaries`;
}

function plain(name) {
  return sentence(name.replaceAll("_", " "));
}

function spent(seconds) {
  return seconds < 10 ? `${seconds.toFixed(2)} s` : seconds < 120 ? `${Math.round(seconds)} s` : duration(seconds);
}

function facts(title, rows) {
  return h("section", { class: "card" }, h("h2", {}, title), h("dl", { class: "facts-list" }, rows.filter(Boolean).map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", { class: "number" }, value)))));
}
