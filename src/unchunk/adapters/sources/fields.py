"""Under which names somebody else's chunks carry what we need. Data, and how to look it up."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import fields as each_field

from unchunk.errors import InvalidSettingError
from unchunk.ports import FieldValue

Names = tuple[str, ...]
Payload = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Fields:
    """Of several names the first that a chunk carries counts; none says that there is none.

    A dot leads into what is nested, and into text that is JSON. `first_page` is the number
    that the first page has. Where `start` is and no `end`, it follows from the text. In Chroma
    the text may be its own `document` instead of a field. `previous` and `following` are ids of
    neighbours, and `file` is what several documents are pages of.
    """

    document: Names = ("parent_id", "mongo_id")
    chunk_index: Names = ("chunk_index",)
    chunk_count: Names = ("chunk_count",)
    text: Names = ("content",)
    title: Names = ("title",)
    content_type: Names = ("content_type",)
    start: Names = ("start",)
    end: Names = ("end",)
    page: Names = ("page",)
    first_page: int = 1
    previous: Names = ()
    following: Names = ()
    file: Names = ()

    def __post_init__(self) -> None:
        for each in each_field(self):
            names = getattr(self, each.name)
            if each.name != "first_page" and not isinstance(names, tuple):
                raise InvalidSettingError(f"{each.name} takes a tuple of names, not {names!r}")
        if not self.document:
            raise InvalidSettingError("document takes the name of at least one field")

    def taken(self) -> frozenset[str]:
        """All names, and those of texts that are JSON: they hold the chunk itself once more."""
        own = [each.name for each in each_field(self) if each.name not in ("first_page", "file")]
        every = [getattr(self, name) for name in own]
        names = {name for names in every for name in names}
        return frozenset(names | {name.partition(".")[0] for name in names})


PAGES = Fields()
"""Pages and work items, 320 words with 80 shared: the names that this project speaks of."""

LANGCHAIN = Fields(
    document=("metadata.source", "source"),
    chunk_index=("metadata.chunk_index", "chunk_index"),
    chunk_count=("metadata.chunk_count", "chunk_count"),
    text=("page_content",),
    title=("metadata.title", "title"),
    content_type=(),
    start=("metadata.start_index", "start_index"),
    end=(),
    page=("metadata.page", "page"),
    first_page=0,
)
"""As LangChain's stores write documents, nested in Qdrant and flat in Chroma."""

LLAMA_INDEX = Fields(
    document=("ref_doc_id", "document_id"),
    text=("_node_content.text",),
    title=("file_name",),
    content_type=("file_type",),
    start=("_node_content.start_char_idx",),
    end=("_node_content.end_char_idx",),
    page=("page_label",),
    previous=("_node_content.relationships.2.node_id",),
    following=("_node_content.relationships.3.node_id",),
    file=("file_path",),
)
"""As LlamaIndex's stores write nodes. They carry no index: each is a passage of its own."""

PRESETS: Mapping[str, Fields] = {
    "pages": PAGES,
    "langchain": LANGCHAIN,
    "llama-index": LLAMA_INDEX,
}


def look_up(payload: Payload, names: Names) -> object:
    """The value under the first of `names` that is there; None if none is."""
    for name in names:
        value = payload.get(name)
        if value is None and "." in name:
            value = _inside(payload, name)
        if value not in (None, ""):
            return value
    return None


def _inside(payload: Payload, path: str) -> object:
    value: object = payload
    for step in path.split("."):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return None
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def the_rest(payload: Payload, taken: frozenset[str]) -> dict[str, FieldValue]:
    """All that a chunk carries beside what is `taken`, what is nested under names with dots."""
    return {name: value for name, value in _flat(payload, "") if name not in taken}


def _flat(payload: Payload, before: str) -> Iterator[tuple[str, FieldValue]]:
    for key, value in payload.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif value is None or isinstance(value, str | int | float):
            yield name, value
        elif isinstance(value, list) and all(
            each is None or isinstance(each, str | int | float) for each in value
        ):
            yield name, tuple(value)
        else:
            yield name, json.dumps(value, ensure_ascii=False, default=str)
