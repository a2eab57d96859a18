// Why an answer is as it is: the plan of a question, what the search found, stage by stage, what
// became of it, and the exact words that a model would be sent. Nothing is asked of a model here.

import { call } from "./api.js";
import { bodyFrom } from "./asked.js";
import { readHash } from "./citation.js";
import { copy } from "./copying.js";
import { announce, fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { CHOICES, howWords } from "./plan.js";
import { bar, sourcesList } from "./sources.js";
import { many, number } from "./words.js";

const WAYS = { dense: "By meaning", lexical: "By words", rerank: "Reranked" };
const ROWS = 12;

export async function show(view, _, query, context) {
  const playground = new Playground(query, context);
  fill(view, playground.element);
  await playground.open();
}

class Playground {
  #turn = 0;

  constructor(query, context) {
    this.context = context;
    // As it was asked, to the letter; null once somebody asks here.
    this.asked = bodyFrom(query);
    this.question = h("textarea", {
      class: "textarea",
      id: "why-question",
      rows: 2,
      value: this.asked.message,
      placeholder: "A question to look into",
    });
    this.mode = h(
      "select",
      { class: "select", id: "why-mode" },
      Object.entries(CHOICES).map(([value, { label }]) => h("option", { value }, label)),
    );
    this.mode.value = query.get("mode") in CHOICES ? query.get("mode") : "auto";
    this.folder = h("select", { class: "select", id: "why-folder" }, h("option", { value: "" }, "All folders"));
    this.names = h("input", {
      class: "input",
      id: "why-names",
      placeholder: "all",
      autocomplete: "off",
      value: (this.asked.names ?? []).join(", "),
    });
    this.also = h("p", { class: "hint" }, alsoWords(this.asked));
    this.also.hidden = !this.also.textContent;
    this.result = h("div", { class: "why-result" });
    this.form = h(
      "form",
      { class: "card why-form" },
      field("Question", this.question),
      field("Answer from", this.mode),
      field("Folder", this.folder),
      field("Documents named, with commas between", this.names),
      h("button", { class: "button primary", type: "submit" }, icon("search"), "Look"),
      this.also,
    );
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      // A question of one's own has no conversation before it.
      this.asked = null;
      this.also.hidden = true;
      this.look();
    });
    this.question.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.element = h(
      "div",
      { class: "page why" },
      h(
        "div",
        { class: "page-head" },
        h("h1", {}, "Why"),
        h(
          "p",
          { class: "muted" },
          "See how a question is understood, what is found for it, and what a model would be told. No model is asked.",
        ),
      ),
      this.form,
      this.result,
    );
  }

  async open() {
    try {
      const { folders } = await call("GET", "/api/folders");
      this.folder.append(
        ...folders.filter((one) => one.folder).map((one) => h("option", { value: one.folder }, one.folder)),
      );
      this.folder.value = this.asked?.folders?.[0] ?? "";
    } catch {
      // All of them, then.
    }
    // Only what the address asks: somebody may be typing already.
    if (this.asked?.message.trim()) await this.look();
    else if (!this.question.value) this.question.focus();
  }

  async look() {
    const message = this.question.value.trim();
    if (!message) return;
    const mine = ++this.#turn;
    fill(this.result, h("p", { class: "waiting" }, "Looking …"));
    try {
      const got = await call("POST", "/api/retrieve", { body: this.asked ?? this.#body(message) });
      if (mine !== this.#turn) return;
      this.#show(got);
      announce(`${many(got.sources.length, "source")}, ${many(got.found.length, "chunk")} found`);
    } catch (error) {
      if (error.status === 401) throw error;
      if (mine === this.#turn)
        fill(
          this.result,
          h("p", { class: "notice bad", role: "alert" }, icon("warning"), h("span", { class: "words" }, error.message)),
        );
    }
  }

  #body(message) {
    const body = { message, ...CHOICES[this.mode.value].body };
    if (this.folder.value) body.folder = this.folder.value;
    const names = this.names.value
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean);
    if (names.length) body.names = names;
    return body;
  }

  #show(got) {
    const read = (document, places, gap) =>
      this.context.go(readHash(document, places, gap ? { gap: `${gap.start}-${gap.end}` } : {}));
    fill(
      this.result,
      part("Plan", plan(got, CHOICES[this.mode.value].body)),
      [...got.notes, ...(got.warnings ?? []).map((one) => one.message)]
        .filter(isNew)
        .map((one) => h("p", { class: "notice warn small" }, icon("warning"), h("span", { class: "words" }, one))),
      got.found.length > 0 && part(`Found (${got.found.length})`, foundTable(got)),
      got.dropped.length > 0 && part(`Dropped (${got.dropped.length})`, dropped(got.dropped)),
      part("Evidence", budget(got.usage), sourcesList(got, { read })),
      part("The prompt", prompt(got.prompt)),
    );
  }
}

/** What the form does not show of a question as it was asked. */
function alsoWords({ before_turn: turn = 0, folders = [], documents = [], include = [] }) {
  const chunks = include.reduce((sum, one) => sum + one.last_chunk - one.first_chunk + 1, 0);
  const also = [
    turn > 0 && "after what was said before it",
    folders.length > 1 && `in the folders ${folders.join(", ")}`,
    documents.length > 0 && `in ${many(documents.length, "chosen document")}`,
    chunks > 0 && `with ${many(chunks, "chosen chunk")}`,
  ].filter(Boolean);
  return also.length ? `As it was asked: ${also.join(", ")}. Look asks it alone.` : "";
}

const isNew = (one, at, all) => all.indexOf(one) === at;

function field(label, control) {
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control);
}

function part(title, ...content) {
  return h("section", { class: "why-part" }, h("h2", {}, title), content);
}

function plan({ plan: planned, took_ms: took }, body) {
  if (!planned) return h("p", {}, howWords({ rag: false }, body));
  const told = [
    ["Answered from", howWords({ rag: true, ...planned }, body)],
    ["Searched for", planned.search_text || "nothing: the documents that are named are enough"],
    ["Named documents", planned.sources?.join(", ")],
    [
      "Follow-up",
      planned.follow_up && `yes: ${many(planned.carried.length, "chunk")} of the last answer's evidence are carried`,
    ],
    ["Took", `${number(Math.round(took))} ms`],
  ];
  return h(
    "dl",
    { class: "facts" },
    told.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

const keyOf = ({ document, chunk_index: index }) => `${document}:${index}`;

/** What became of each chunk that was found. */
function fates({ sources, dropped: all, omitted }) {
  const found = new Map(all.map((one) => [keyOf(one), { kind: "", words: one.reason }]));
  const within = (runs, kind, words) => (document) => {
    for (const [first, last] of runs)
      for (let index = first; index <= Math.min(last, first + 5000); index += 1)
        found.set(`${document}:${index}`, { kind, words });
  };
  for (const one of omitted) within(one.chunks, "warn", one.reason)(one.document);
  for (const one of sources)
    within(
      one.passages.map((it) => [it.first_chunk, it.last_chunk]),
      "good",
      "sent",
    )(one.document);
  return found;
}

/** Whether its score is a cosine, and not what its words are worth. */
const isNear = (one) => one.found_by !== "words";

/** A bar for every stage, as long as what it gave beside the best of that stage. */
function foundTable(got) {
  const ways = [...new Set(got.found.flatMap((one) => one.ways.map((way) => way.name)))];
  const best = (values) => Math.max(1e-9, ...values);
  const most = Object.fromEntries(
    ways.map((way) => [
      way,
      best(got.found.flatMap((one) => one.ways.filter((it) => it.name === way).map((it) => it.score))),
    ]),
  );
  const top = { rank: best(got.found.map((one) => one.rank_score)), score: best(got.found.filter(isNear).map((one) => one.score)) };
  const names = new Map(got.sources.map((one) => [one.document, one.name]));
  const became = fates(got);
  const cell = (way) =>
    h(
      "td",
      {},
      way
        ? [
            bar(way.score / most[way.name], way.name),
            h("span", { class: "number" }, `${way.score.toFixed(2)} · no. ${way.rank}`),
          ]
        : h("span", { class: "muted" }, "–"),
    );
  const row = (one, at) => {
    const fate = became.get(keyOf(one)) ?? { kind: "", words: "not needed" };
    const name = one.name || names.get(one.document) || one.document;
    return h(
      "tr",
      { hidden: at >= ROWS },
      h("td", { class: "number" }, at + 1),
      h(
        "td",
        { class: "found-name" },
        h("a", { href: readHash(one.document, [], { gap: `${one.chunk_index}-${one.chunk_index}` }) }, name),
        h("span", { class: "muted" }, ` chunk ${one.chunk_index}`),
      ),
      ways.map((way) => cell(one.ways.find((it) => it.name === way))),
      h("td", {}, bar(one.rank_score / top.rank, "rank"), h("span", { class: "number" }, one.rank_score.toFixed(3))),
      isNear(one)
        ? h("td", {}, bar(one.score / top.score, "score"), h("span", { class: "number" }, one.score.toFixed(2)))
        : h("td", {}, h("span", { class: "muted" }, "by words")),
      h("td", {}, h("span", { class: `badge ${fate.kind}` }, fate.words)),
    );
  };
  const rows = got.found.map(row);
  const more = h(
    "button",
    { class: "button small", type: "button", hidden: rows.length <= ROWS },
    `Show all ${rows.length}`,
  );
  more.addEventListener("click", () => {
    for (const one of rows) one.hidden = false;
    more.hidden = true;
  });
  const titles = ["", "Chunk", ...ways.map((way) => WAYS[way] ?? way), "Together", "Score", "Became"];
  return [
    h(
      "div",
      { class: "scrolls", tabIndex: 0, role: "region", "aria-label": "What was found" },
      h(
        "table",
        { class: "found" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            titles.map((one) => h("th", { scope: "col" }, one)),
          ),
        ),
        h("tbody", {}, rows),
      ),
    ),
    more,
  ];
}

function dropped(all) {
  return h(
    "ul",
    { class: "dropped" },
    all
      .slice(0, 100)
      .map((one) =>
        h(
          "li",
          {},
          h("a", { href: readHash(one.document) }, one.name || one.document),
          h("span", { class: "muted" }, ` chunk ${one.chunk_index}, score ${one.score.toFixed(2)}: `),
          one.reason,
        ),
      ),
  );
}

function budget({ context_size: size, context_budget: room, unit }) {
  if (!room) return h("p", { class: "muted" }, `${number(size)} ${unit}`);
  return h(
    "div",
    { class: "budget" },
    bar(size / room),
    h("span", { class: "small muted" }, `${number(size)} of ${number(room)} ${unit} used`),
  );
}

function prompt({ messages, template }) {
  const text = (content) => (typeof content === "string" ? content : JSON.stringify(content, null, 2));
  const button = h("button", { class: "button small", type: "button" }, icon("copy"), "Copy");
  button.addEventListener("click", () =>
    copy(JSON.stringify(messages, null, 2), (words) => (button.lastChild.data = words)),
  );
  return [
    h(
      "p",
      { class: "prompt-head muted small" },
      h("span", {}, `${many(messages.length, "message")}${template ? `, template ${template}` : ""}`),
      button,
    ),
    messages.map(({ role, content }) =>
      h(
        "div",
        { class: "message" },
        h("h3", {}, role),
        h("pre", { tabIndex: 0, "aria-label": `Message of the ${role}` }, text(content)),
      ),
    ),
  ];
}
