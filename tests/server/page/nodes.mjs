// As much of a document as the page's scripts need to make nodes.

class FakeNode {
  childNodes = [];
  dataset = {};
  style = {};
  parent = null;

  constructor(tag, data = null) {
    this.tag = tag;
    this.data = data;
  }

  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }

  append(...nodes) {
    for (const node of nodes) {
      const child = typeof node === "string" ? new FakeNode("", node) : node;
      child.parent = this;
      this.childNodes.push(child);
    }
  }

  remove() {
    this.parent.childNodes = this.parent.childNodes.filter((one) => one !== this);
  }

  replaceWith(node) {
    node.parent = this.parent;
    this.parent.childNodes = this.parent.childNodes.map((one) => (one === this ? node : one));
  }
}

export class FakeDocument {
  createElement(tag) {
    return new FakeNode(tag);
  }

  createTextNode(text) {
    return new FakeNode("", text);
  }
}

/** What a node shows, as markup to compare. */
export function shown(node) {
  if (node.tag === "") return node.data;
  return `<${node.tag}>${node.childNodes.map(shown).join("")}</${node.tag}>`;
}
