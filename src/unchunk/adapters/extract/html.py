"""Web pages: what a reader of the page would call its text.

Scripts, styles, navigation, page footers, controls and hidden elements are left out; of a page
that marks its main part, only that is read. Tables that only make layout are read as what
stands in them. The tree is walked without recursion: pages nest as deep as they like.
"""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted

_LEFT_OUT = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "nav",
        "svg",
        "iframe",
        "object",
        "embed",
        "audio",
        "video",
        "canvas",
        "button",
        "select",
        "input",
        "textarea",
        "datalist",
        "head",
        "title",
        "meta",
        "link",
        "map",
        "area",
        "progress",
        "meter",
        "-comment",
    ]
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "hr",
        "legend",
        "main",
        "menu",
        "ol",
        "p",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_CONTENT = frozenset({"main", "article", "section", "blockquote"})  # where a footer belongs to it
# Only these are asked for attributes that hide them: asking costs more than reading the rest.
_ASKED = frozenset(
    ["div", "section", "ul", "ol", "aside", "header", "footer", "span", "p", "table", "li", "a"]
)
_ROLES = frozenset({"navigation", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog"})
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_AROUND_BREAK = re.compile(r" *\n *")
_SPACES = re.compile(r" {2,}")
# In XHTML an element may close itself; HTML would take all that follows for its content.
_SELF_CLOSED = re.compile(
    r"<(title|script|style|textarea|iframe|noscript|a|b|i|em|strong|span|div|p|td|th|li|h[1-6])\b"
    r"([^<>]*)/>"
)
# Looking into lists and tables stops there: each level would be looked through once more.
_LIST_DEPTH = 5
_LAYOUT_DEPTH = 20
_LONGEST_CELL = 1500
_MAIN_SHARE = 0.25


def read(source: Source) -> Extracted:
    out = Composition(source.limits)
    out.notes += source.notes
    write_page(source.text, out)
    return out.finish(source.media_type)


def write_page(html: str, out: Composition) -> None:
    """Add the text of a page; its title becomes the title if there is none yet."""
    if html[:200].lstrip().startswith("<?xml") or "<html xmlns" in html[:2000]:
        html = _SELF_CLOSED.sub(r"<\1\2></\1>", html)
    try:
        tree = LexborHTMLParser(html)
    except SelectolaxError as error:
        raise MemoryError from error  # any text is HTML, so this alone can go wrong
    title = tree.css_first("title")
    if title is not None and not out.title:
        out.title = title.text()
    body = _main_part(tree)
    if body is not None:
        _Walk(out).walk(body)


def _main_part(tree: LexborHTMLParser) -> LexborNode | None:
    body = tree.body
    found = {node.mem_id: node for node in tree.css("main, [role=main]")}
    if body is not None and len(found) == 1:
        (part,) = found.values()
        if len(part.text()) > _MAIN_SHARE * len(body.text()):
            return part
    return body


class _Walk:
    """Goes through the elements in order and hands on a block whenever one ends."""

    def __init__(self, out: Composition) -> None:
        self._out = out
        self._text: list[str] = []
        self._lists = 0
        self._items: list[bool] = []  # for each open item, whether its own line is written
        self._content = 0
        self._pre = 0
        self._layout = 0
        self._tables = 0
        self._rows: list[list[str]] = []

    def walk(self, root: LexborNode) -> None:
        above: list[tuple[LexborNode, str]] = []
        node: LexborNode | None = root
        while node is not None:
            tag = node.tag or ""
            child = None
            if tag == "-text":
                self._read(node)
            elif tag not in _LEFT_OUT and not self._is_hidden(node, tag):
                self._enter(node, tag)
                child = node.first_child
                if child is None:
                    self._leave(tag)
            if child is not None:
                above.append((node, tag))
                node = child
                continue
            following = node.next if above else None
            while following is None and above:
                node, tag = above.pop()
                self._leave(tag)
                following = node.next if above else None
            node = following
        self._flush()

    def _is_hidden(self, node: LexborNode, tag: str) -> bool:
        if tag == "footer" and not self._content:
            return True
        if tag not in _ASKED:
            return False
        if tag == "ul" and self._lists < _LIST_DEPTH:
            link = node.css_first("a")
            if link is not None and "hreflang" in link.attributes:
                return True  # the same page in other languages
        attributes = node.attributes
        return bool(attributes) and (
            "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
            or attributes.get("role") in _ROLES
            or _HIDDEN.search(attributes.get("style") or "") is not None
        )

    def _read(self, node: LexborNode) -> None:
        text = node.text_content
        if text:
            self._text.append(text if self._pre else _SPACE.sub(" ", text))

    def _enter(self, node: LexborNode, tag: str) -> None:
        if tag == "br":
            self._text.append("\n")
            return
        if tag in _HEADINGS or tag in _BLOCKS or tag in ("li", "pre"):
            self._flush()
        if tag == "li":
            self._items.append(False)
        elif tag in _LISTS:
            self._lists += 1
        elif tag == "pre":
            self._pre += 1
        elif tag in _CONTENT:
            self._content += 1
        elif tag == "table":
            self._enter_table(node)
        elif self._tables == 1 and tag == "tr":
            self._rows.append([])
        elif self._tables == 1 and tag in ("td", "th"):
            self._rows = self._rows or [[]]
            span = node.attributes.get("colspan") or "1"
            width = (
                min(int(span), 100) if span.isascii() and span.isdigit() and len(span) < 4 else 1
            )
            self._rows[-1] += [""] * max(width, 1)
            self._cell = len(self._rows[-1]) - max(width, 1)

    def _leave(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._flush(_HEADINGS[tag])
        elif tag in _BLOCKS or tag in ("li", "pre"):
            self._flush()
        if tag == "li" and self._items:
            self._items.pop()
        elif tag in _LISTS:
            self._lists -= 1
        elif tag == "pre":
            self._pre -= 1
        elif tag in _CONTENT:
            self._content -= 1
        elif tag == "table":
            self._leave_table()

    def _enter_table(self, node: LexborNode) -> None:
        if not self._tables and self._is_layout(node):
            self._layout += 1
        elif self._tables:
            self._tables += 1
        else:
            self._tables, self._rows = 1, []

    def _is_layout(self, node: LexborNode) -> bool:
        if self._layout > _LAYOUT_DEPTH or node.attributes.get("role") == "presentation":
            return True
        if node.css_first("h1, h2, h3, h4, pre") is not None or len(node.css("table")) > 1:
            return True  # the table itself is among those that are found
        return node.css_first("th") is None and (
            len(node.css("tr")) < 2
            or any(len(cell.text()) > _LONGEST_CELL for cell in node.css("td"))
        )

    def _leave_table(self) -> None:
        if not self._tables:
            self._layout -= 1
            return
        self._tables -= 1
        if not self._tables:
            self._out.table(self._rows)

    def _flush(self, level: int = 0) -> None:
        text = "".join(self._text)
        self._text.clear()
        if not text or text.isspace():
            return
        if not self._pre:
            text = _SPACES.sub(" ", _AROUND_BREAK.sub("\n", text))
        if self._tables:
            if self._rows and self._rows[-1]:
                cell = self._rows[-1][self._cell]
                self._rows[-1][self._cell] = f"{cell} {text}" if cell else text
            else:
                self._out.paragraph(text)  # a caption
        elif level:
            self._out.heading(level, text)
        elif self._pre:
            self._out.code(text)
        elif self._items and not self._items[-1]:
            self._items[-1] = True
            self._out.item(self._lists - 1, text)
        else:
            self._out.paragraph(text)
