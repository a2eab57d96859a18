// Markdown, as models write it: text -> tree -> nodes. A tree is strings and `{tag, children}`;
// there is no way from a text to markup, so a tag in it is text. Every step is linear in the text,
// and nesting has an end. This file knows blocks, inline.js what is in them, growing.js nodes.
//
// While a text grows it is `open`: what is begun at its end is shown as if it were closed, so that
// nothing is seen to change its kind.

import { inline, withCitations } from "./inline.js";

const DEEPEST = 12;

/** The blocks of a text, each `{node, at}`: where it begins. Only the last one can still change. */
export function parse(text, open = false) {
  const lines = text.split("\n");
  const starts = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  return blocks(lines, 0, open).map(({ node, line }) => ({ node, at: starts[line] }));
}

function blocks(lines, depth, open) {
  const found = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const [node, end] = block(lines, at, depth, open);
    found.push({ node, line: at });
    at = end;
  }
  return found;
}

/** A reader of each kind gives `[node, line behind it]`, or nothing. */
function block(lines, at, depth, open) {
  return (
    fence(lines, at) ??
    heading(lines, at, open) ??
    rule(lines, at) ??
    (depth < DEEPEST ? (quote(lines, at, depth, open) ?? list(lines, at, depth, open)) : null) ??
    table(lines, at, open) ??
    paragraph(lines, at, depth, open)
  );
}

function indentOf(line) {
  let at = 0;
  while (line[at] === " ") at += 1;
  return line[at] === "\t" ? at + 4 : at;
}

function fenceOf(line) {
  return /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line.trimEnd());
}

function fence(lines, at) {
  const opened = fenceOf(lines[at]);
  if (!opened) return null;
  const [, mark, told] = opened;
  const indent = indentOf(lines[at]);
  const inside = [];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const bare = lines[end].trim();
    if (bare.length >= mark.length && bare === mark[0].repeat(bare.length)) break;
    inside.push(lines[end].slice(Math.min(indentOf(lines[end]), indent)));
  }
  const code = { tag: "code", children: withCitations(inside.join("\n")) };
  return [{ tag: "pre", language: told.trim().split(/\s/)[0], children: [code] }, end + 1];
}

function heading(lines, at, open) {
  const found = /^ {0,3}(#{1,6})(?:[ \t]|$)/.exec(lines[at].trimEnd());
  if (!found) return null;
  let text = lines[at].slice(found[0].length).trim();
  const end = text.length - /#*$/.exec(text.slice(-32))[0].length;
  if (end === 0 || text[end - 1] === " ") text = text.slice(0, end).trim();
  const isLast = at === lines.length - 1;
  return [{ tag: `h${found[1].length}`, children: inline(text, open && isLast) }, at + 1];
}

function isRule(line) {
  return /^([-*_])\1{2,}$/.test(line.replace(/[ \t\r]/g, "")) && indentOf(line) < 4;
}

function rule(lines, at) {
  return isRule(lines[at]) ? [{ tag: "hr", children: [] }, at + 1] : null;
}

function quote(lines, at, depth, open) {
  const inside = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const found = /^ {0,3}> ?/.exec(lines[end]);
    if (!found) break;
    inside.push(lines[end].slice(found[0].length));
  }
  if (end === at) return null;
  const children = blocks(inside, depth + 1, open && end === lines.length);
  return [{ tag: "blockquote", children: children.map(({ node }) => node) }, end];
}

function itemOf(line) {
  const found = /^( *)([-*+•]|\d{1,9}[.)])(?=([ \t]*))(?:[ \t]|$)/.exec(line.trimEnd());
  if (!found) return null;
  const [, indent, mark, gap] = found;
  const kind = mark.length > 1 ? mark.at(-1) : mark;
  const behind = indent.length + mark.length;
  return {
    kind,
    number: parseInt(mark, 10),
    indent: indent.length,
    content: behind + (gap.length > 4 ? 1 : gap.length),
    isEmpty: line.length <= behind + gap.length,
  };
}

function list(lines, at, depth, open) {
  const first = itemOf(lines[at]);
  if (!first || first.indent > 3) return null;
  const items = [];
  let end = at;
  for (let item = first; item?.kind === first.kind && item.indent < first.indent + 2;) {
    const inside = [lines[end].slice(item.content)];
    end = itemEnd(lines, end + 1, item, inside);
    items.push(inside);
    // Blank lines between two items are neither's.
    let next = end;
    while (next < lines.length && lines[next].trim() === "") next += 1;
    item = next < lines.length && !isRule(lines[next]) ? itemOf(lines[next]) : null;
    if (item?.kind === first.kind && item.indent < first.indent + 2) end = next;
  }
  const children = items.map((inside, number) => {
    const isLast = number === items.length - 1 && end === lines.length;
    return { tag: "li", children: unwrapped(blocks(inside, depth + 1, open && isLast)) };
  });
  if (Number.isNaN(first.number)) return [{ tag: "ul", children }, end];
  return [{ tag: "ol", start: first.number, children }, end];
}

/** Where an item ends that goes on at line `at`; its lines, less their indent, go to `inside`. */
function itemEnd(lines, at, item, inside) {
  let blank = 0;
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    if (line.trim() === "") {
      blank += 1;
      continue;
    }
    const indent = indentOf(line);
    const isLazy = blank === 0 && !itemOf(line) && !interrupts(lines, end);
    if (indent < item.indent + 2 && !isLazy) break;
    for (; blank > 0; blank -= 1) inside.push("");
    inside.push(line.startsWith("\t") ? line.slice(1) : line.slice(Math.min(indent, item.content)));
  }
  return end - blank;
}

/** An item's first paragraph is its text. One that is loose later should not move what is there. */
function unwrapped(found) {
  const nodes = found.map(({ node }) => node);
  return nodes[0]?.tag === "p" ? [...nodes[0].children, ...nodes.slice(1)] : nodes;
}

function cellsOf(line) {
  const cells = [];
  let text = "";
  const bare = line.trim().replace(/^\|/, "");
  for (let at = 0; at < bare.length; at += 1) {
    if (bare[at] === "\\" && bare[at + 1] === "|") {
      text += "|";
      at += 1;
    } else if (bare[at] === "|") {
      cells.push(text.trim());
      text = "";
    } else text += bare[at];
  }
  if (text.trim() !== "") cells.push(text.trim());
  return cells;
}

/** Whether a table begins here: its second line is made of dashes, or is about to be. */
function isTable(lines, at, open) {
  if (!lines[at].includes("|")) return false;
  const second = lines[at + 1];
  const isBegun = open && lines[at].trimStart().startsWith("|") && at + 2 >= lines.length;
  if (second === undefined) return isBegun;
  if (!/^[ \t|:-]*\r?$/.test(second)) return false;
  if (isBegun) return true;
  return second.includes("-") && cellsOf(second).length === cellsOf(lines[at]).length;
}

function table(lines, at, open) {
  if (!isTable(lines, at, open)) return null;
  const align = cellsOf(lines[at + 1] ?? "").map((cell) => {
    if (!cell.endsWith(":")) return "";
    return cell.startsWith(":") ? "center" : "right";
  });
  const titles = cellsOf(lines[at]);
  const row = (line, tag, isLast) => ({
    tag: "tr",
    // Cells that are missing are not made up: a short row may stand under very many titles.
    children: cellsOf(line)
      .slice(0, titles.length)
      .map((cell, column) => ({ tag, align: align[column] ?? "", children: inline(cell, isLast) })),
  });
  const rows = [];
  let end = Math.min(at + 2, lines.length);
  for (; end < lines.length && lines[end].includes("|"); end += 1) {
    rows.push(row(lines[end], "td", open && end === lines.length - 1));
  }
  const children = [{ tag: "thead", children: [row(lines[at], "th", false)] }];
  if (rows.length) children.push({ tag: "tbody", children: rows });
  return [{ tag: "div", children: [{ tag: "table", children }] }, end];
}

/** Whether a line ends the paragraph before it. */
function interrupts(lines, at) {
  const line = lines[at];
  if (fenceOf(line) || isRule(line) || /^ {0,3}(?:>|#{1,6}[ \t])/.test(line)) return true;
  const item = itemOf(line);
  return item !== null && !item.isEmpty && (Number.isNaN(item.number) || item.number === 1);
}

function paragraph(lines, at, depth, open) {
  let end = at + 1;
  const ends = (line) => lines[line].trim() === "" || interrupts(lines, line) || isTable(lines, line, open);
  while (end < lines.length && (depth >= DEEPEST ? lines[end].trim() !== "" : !ends(end))) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trimStart())
    .join("\n")
    .trimEnd();
  return [{ tag: "p", children: inline(text, open && end === lines.length) }, end];
}
