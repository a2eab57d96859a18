// A tree of Markdown as nodes of the page, and a text that grows, of which only what is new is made.

import { parse } from "./markdown.js";

/** Headings of an answer stand below those of the page. */
function element(node) {
  const level = /^h([1-6])$/.exec(node.tag)?.[1];
  const made = document.createElement(level ? `h${Math.min(Number(level) + 2, 6)}` : node.tag);
  if (node.href) {
    made.href = made.title = node.href;
    made.rel = "noopener noreferrer";
    made.target = "_blank";
  }
  if (node.start > 1) made.start = node.start;
  if (node.align) made.style.textAlign = node.align;
  if (node.language) made.dataset.language = node.language;
  if (node.tag === "div" || node.tag === "pre") {
    // What is wider than the page scrolls, also by keyboard.
    made.className = "scrolls";
    made.tabIndex = 0;
  }
  return made;
}

function build(node, cite) {
  if (typeof node === "string") return document.createTextNode(node);
  if (node.tag === "cite") return cite(node.mark);
  const made = element(node);
  made.append(...node.children.map((one) => build(one, cite)));
  return made;
}

function isAlike(one, other) {
  if (typeof one === "string" || typeof other === "string") return false;
  return ["tag", "href", "mark", "start", "align", "language"].every((name) => one[name] === other[name]);
}

/** Make what `parent` shows of one list of nodes into another, touching only what differs. */
function repaint(parent, before, after, cite) {
  after.forEach((node, at) => {
    const old = before[at];
    const shown = parent.childNodes[at];
    if (old === undefined) parent.append(build(node, cite));
    else if (typeof node === "string" && typeof old === "string") {
      if (node !== old) shown.data = node;
    } else if (!isAlike(old, node)) shown.replaceWith(build(node, cite));
    else if (node.tag !== "cite") repaint(shown, old.children, node.children, cite);
  });
  while (parent.childNodes.length > after.length) parent.lastChild.remove();
}

/** A text that grows at its end, shown in `parent`; `cite` makes the element of a mark's number. */
export class Growing {
  #parent;
  #cite;
  #base = 0;
  #last = null;

  constructor(parent, cite) {
    this.#parent = parent;
    this.#cite = cite;
  }

  /** Show all of `text`; what stood before the last block must be as it was. */
  show(text, open) {
    const found = parse(text.slice(this.#base), open);
    if (found.length === 0) return;
    const nodes = found.map(({ node }) => node);
    const [first] = nodes;
    const shown = this.#parent.lastChild;
    if (this.#last && isAlike(this.#last, first)) {
      repaint(shown, this.#last.children, first.children, this.#cite);
    } else if (this.#last) shown.replaceWith(build(first, this.#cite));
    const added = this.#last ? nodes.slice(1) : nodes;
    this.#parent.append(...added.map((node) => build(node, this.#cite)));
    this.#base += found.at(-1).at;
    this.#last = nodes.at(-1);
  }
}
