// Markdown as models write it, and as somebody writes it who means harm.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Growing } from "../growing.js";
import { CITE, CITED, plain } from "../inline.js";
import { parse } from "../markdown.js";
import { FakeDocument, shown } from "./nodes.mjs";

const cite = (number) => `${CITE}${number}${CITED}`;

/** A tree as a line: `p("a" em("b"))`. */
function line(node) {
  if (typeof node === "string") return JSON.stringify(node);
  const told = ["href", "mark", "start", "align", "language"].filter(
    (name) => node[name] !== undefined && node[name] !== "",
  );
  const more = told.map((name) => ` ${name}=${node[name]}`).join("");
  return `${node.tag}${more}(${node.children.map(line).join(" ")})`;
}

const tree = (text, open = false) =>
  parse(text, open)
    .map(({ node }) => line(node))
    .join(" ");

function depthOf(node) {
  if (typeof node === "string") return 0;
  return 1 + Math.max(0, ...node.children.map(depthOf));
}

const deepest = (text) => Math.max(...parse(text).map(({ node }) => depthOf(node)));

test("emphasis of all kinds", () => {
  assert.equal(
    tree("a *b* **c** ***d*** _e_ ~~f~~"),
    'p("a " em("b") " " strong("c") " " em(strong("d")) " " em("e") " " del("f"))',
  );
  assert.equal(tree("snake_case_name 2 * 3 * 4"), 'p("snake_case_name 2 * 3 * 4")');
  assert.equal(tree("*a **b*"), 'p(em("a **b"))');
  assert.equal(tree("**「太字」**です"), 'p(strong("「太字」") "です")');
  assert.equal(tree("\\*a\\* \\q"), 'p("*a* \\\\q")');
});

test("code holds what looks like markup", () => {
  assert.equal(tree("`*a*` ``b`c``"), 'p(code("*a*") " " code("b`c"))');
  assert.equal(tree("```py x\n*a*\n<b>\n```\nz"), 'pre language=py(code("*a*\\n<b>")) p("z")');
  assert.equal(tree("~~~\na\n```\nb\n~~~"), 'pre(code("a\\n```\\nb"))');
});

test("a fence that is never closed reaches to the end", () => {
  assert.equal(tree("```\na\n\n# b"), 'pre(code("a\\n\\n# b"))');
});

test("lists, with what stands under their items", () => {
  assert.equal(tree("- a\n- b\n  - c\n\n  d\n- e\n\nf"), 'ul(li("a") li("b" ul(li("c")) p("d")) li("e")) p("f")');
  assert.equal(tree("3. a\n4. b\n   ```\n   x\n   ```"), 'ol start=3(li("a") li("b" pre(code("x"))))');
  assert.equal(tree("Title\n- a"), 'p("Title") ul(li("a"))');
  assert.equal(tree("It was\n1986. A year"), 'p("It was\\n1986. A year")');
});

test("tables, quotes, headings, rules, hard breaks", () => {
  assert.equal(
    tree("| a | b |\n|---|--:|\n| 1 | x\\|y |\nz"),
    'div(table(thead(tr(th("a") th align=right("b"))) tbody(tr(td("1") td align=right("x|y"))))) p("z")',
  );
  assert.equal(tree("> a\n> > b"), 'blockquote(p("a") blockquote(p("b")))');
  assert.equal(tree("## A *b* ##\n---\nc"), 'h2("A " em("b")) hr() p("c")');
  assert.equal(tree("a  \nb\\\nc\nd"), 'p("a  " br() "b" br() "c\\nd")');
});

test("links lead to safe places alone", () => {
  assert.equal(tree("[a](https://b.c/d_(e))"), 'p(a href=https://b.c/d_(e)("a"))');
  assert.equal(
    tree("<mailto:a@b.c> https://b.c/d."),
    'p(a href=mailto:a@b.c("mailto:a@b.c") " " a href=https://b.c/d("https://b.c/d") ".")',
  );
  assert.equal(tree("[https://a.b](https://c.d)"), 'p(a href=https://c.d("https://a.b"))');
  for (const target of [
    "javascript:alert(1)",
    "JaVaScRiPt:x",
    "data:text/html,x",
    "vbscript:x",
    "//a.b",
    "/api/documents",
    "#/library",
    "https://",
    "java\tscript:x",
    "&#106;avascript:x",
    "file:///etc/passwd",
    "blob:https://a.b/c",
  ]) {
    for (const text of [`[a](${target})`, `<${target}>`, `![a](${target})`]) {
      assert.ok(!/href=(?!https?:\/\/[a-z])/.test(tree(text)), text);
    }
  }
});

test("a picture is a link, and is not fetched", () => {
  assert.equal(tree("![a](https://b.c/d.png)"), 'p(a href=https://b.c/d.png("a"))');
});

test("tags are text", () => {
  const hostile = '<script>alert(1)</script> <img src=x onerror="y"> <b>z</b> &lt;';
  assert.equal(tree(hostile), `p(${JSON.stringify(hostile)})`);
});

test("a mark of a citation is a node wherever it stands", () => {
  assert.equal(
    tree(`a ${cite(0)} **b${cite(1)}** \`c${cite(2)}\``),
    'p("a " cite mark=0() " " strong("b" cite mark=1()) " " code("c" cite mark=2()))',
  );
  assert.equal(tree(`a [${cite(0)}, ${cite(1)}].`), 'p("a " cite mark=0() cite mark=1() ".")');
  assert.equal(tree("```\nx" + cite(3) + "\n```"), 'pre(code("x" cite mark=3()))');
});

test("what a model writes cannot pass for a mark", () => {
  assert.equal(tree(plain(`a ${cite(0)}`)), 'p("a \ufffd0\ufffd")');
});

test("what is begun at the end of a growing text is shown as if it were closed", () => {
  assert.equal(tree("a **b", true), 'p("a " strong("b"))');
  assert.equal(tree("a **", true), 'p("a ")');
  assert.equal(tree("a `b", true), 'p("a " code("b"))');
  assert.equal(tree("a [b](https://c", true), 'p("a b")');
  assert.equal(tree("| a | b", true), 'div(table(thead(tr(th("a") th("b")))))');
  assert.equal(tree("| a | b |\n|--", true), 'div(table(thead(tr(th("a") th("b")))))');
  assert.equal(tree("**a** *b", false), 'p(strong("a") " *b")');
});

test("nesting has an end, however deep it is meant", () => {
  const hostile = [
    "*a ".repeat(10_000) + "a* ".repeat(10_000),
    "*_".repeat(10_000) + "x" + "_*".repeat(10_000),
    "**".repeat(10_000) + "x" + "**".repeat(10_000),
    ">".repeat(10_000) + "x",
    "- ".repeat(10_000) + "x",
    Array.from({ length: 1000 }, (_, at) => " ".repeat(at * 2) + "- x").join("\n"),
    "[".repeat(10_000) + "x" + "](https://a.b)".repeat(10_000),
  ];
  for (const text of hostile) assert.ok(deepest(text) < 120, text.slice(0, 20));
});

test("no text takes more time than in proportion to its length", () => {
  const hostile = [
    (n) => "*a ".repeat(n / 3) + "b* ".repeat(n / 3),
    (n) => "*_".repeat(n / 2),
    (n) => "[".repeat(n / 2) + "]".repeat(n / 2),
    (n) => "[](a".repeat(n / 4),
    (n) => "[](a()".repeat(n / 6),
    (n) => '[a](b "'.repeat(n / 7),
    (n) => Array.from({ length: Math.sqrt(n) }, (_, at) => "`".repeat(at)).join(" "),
    (n) => "a`b".repeat(n / 3),
    (n) => ">".repeat(n),
    (n) => "- ".repeat(n / 2),
    (n) => "1. a\n\n".repeat(n / 6),
    (n) => "|a|b|\n|-|-|\n" + "|x|y|\n".repeat(n / 6),
    (n) => "|".repeat(n / 3) + "\n" + "-|".repeat(n / 3) + "\n" + "|x\n".repeat(n / 9),
    (n) => "```\n" + "x\n".repeat(n / 2),
    (n) => "# " + " ".repeat(n) + "x",
    (n) => "a\n" + " ".repeat(n),
    (n) => "http://a" + ")".repeat(n),
    (n) => "<http://".repeat(n / 8),
    (n) => "\\".repeat(n),
    (n) => `[${cite(1)},`.repeat(n / 5),
    (n) => "-".repeat(n) + "x",
    (n) => "# " + "#".repeat(n) + " x",
  ];
  // Were it the square of the length for one of them, this would not end before whoever runs it
  // loses patience.
  for (const make of hostile) assert.ok(parse(make(500_000)).length > 0);
});

test("a text that grows ends as the same text does at once", () => {
  globalThis.document = new FakeDocument();
  const text = `# A\n\nIt *is* **so** [b](https://c.d) ${cite(0)}.\n\n| a | b |\n|---|---|\n| 1 | \`2\` |\n\n1. x\n2. y\n   - z ${cite(1)}\n\n\`\`\`js\nlet a;\n\`\`\`\n> q\n\nend 🏴`;
  const make = (number) => {
    const made = document.createElement("cite");
    made.append(String(number));
    return made;
  };
  const whole = document.createElement("div");
  new Growing(whole, make).show(text, false);
  for (const step of [1, 3, 11]) {
    const grown = document.createElement("div");
    const growing = new Growing(grown, make);
    for (let end = step; end < text.length; end += step) growing.show(text.slice(0, end), true);
    growing.show(text, false);
    assert.equal(shown(grown), shown(whole));
  }
});

test("while a text grows, what is there stays the same node", () => {
  globalThis.document = new FakeDocument();
  const parent = document.createElement("div");
  const growing = new Growing(parent, () => document.createElement("cite"));
  growing.show(`one ${cite(0)} and\n\ntwo **thr`, true);
  const [first, second] = parent.childNodes;
  const [text, strong] = second.childNodes;
  growing.show(`one ${cite(0)} and\n\ntwo **three** four ${cite(1)}`, true);
  assert.equal(parent.childNodes[0], first);
  assert.equal(parent.childNodes[1], second);
  assert.equal(second.childNodes[0], text);
  assert.equal(second.childNodes[1], strong);
  assert.equal(shown(second), "<p>two <strong>three</strong> four <cite></cite></p>");
});

test("links of an answer open elsewhere, and tell nobody where they came from", () => {
  globalThis.document = new FakeDocument();
  const parent = document.createElement("div");
  new Growing(parent, () => null).show("[a](https://b.c)", false);
  const link = parent.childNodes[0].childNodes[0];
  assert.equal(link.rel, "noopener noreferrer");
  assert.equal(link.target, "_blank");
  assert.equal(link.title, "https://b.c");
});
