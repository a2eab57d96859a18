"""What a store returned into chunks. What cannot be understood is left out, and named.

Nothing is made up: a row without a text or a document is no chunk.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from unchunk.adapters.sources.fields import Fields, Names, Payload, look_up, the_rest
from unchunk.domain import DocumentId
from unchunk.errors import InvalidInputError, ProviderRefusedError
from unchunk.ports import Among, ForeignChunk, ForeignChunks, ForeignDocument

# No document has more chunks; a number beyond it would have us count up to it.
_MOST_CHUNKS = 1_000_000
_SHOWN = 20
_SHORT = 40


class Record(NamedTuple):
    """One row of a store; `text` counts where the payload has none."""

    id: str
    payload: Payload
    score: float | None = None
    text: str | None = None


class UnfitError(Exception):
    """Why a row is no chunk; `example` is the value that is wrong, if there is one."""

    def __init__(self, reason: str, example: str = "") -> None:
        super().__init__(reason)
        self.reason, self.example = reason, example


def left_out(unfit: Iterable[UnfitError]) -> list[str]:
    """One note for each reason, with how many rows it concerns and the first example."""
    reasons: dict[str, list[str]] = {}
    for one in unfit:
        reasons.setdefault(one.reason, []).append(one.example)
    return [
        f"{len(examples)} left out: {reason}"
        + (f" (for example {examples[0]})" if examples[0] else "")
        for reason, examples in reasons.items()
    ]


def read(
    records: Sequence[Record],
    fields: Fields,
    among: Among,
    where: str,
    wanted: Mapping[DocumentId, Sequence[int]] | None = None,
    *,
    can_map: bool = True,
) -> ForeignChunks:
    """The chunks of `records` that are meant, in their order; `where` names the store.

    `can_map` tells that other fields may be named where these do not fit.
    """
    chunks: list[ForeignChunk] = []
    unfit: list[UnfitError] = []
    notes: list[str] = []
    seen: set[tuple[DocumentId, int]] = set()
    taken = fields.taken()
    for record in records:
        try:
            chunk = understood(record, fields, taken)
        except UnfitError as error:
            unfit.append(error)
            continue
        if name := _breach(record.payload, among):
            # How many is not said: that would tell of other owners' chunks.
            notes.append(f"{where} does not keep to the filter on {name!r}: check its name")
            continue
        if not _is_meant(chunk, among, wanted):
            continue
        if chunk.chunk_index is not None:
            place = chunk.document, chunk.chunk_index
            if place in seen:
                unfit.append(UnfitError("another chunk has the same document and chunk index"))
                continue
            seen.add(place)
        chunks.append(chunk)
    if records and len(unfit) == len(records):
        why = "; ".join(left_out(unfit))
        said = f"no chunk of {where} can be used: {why}. They carry {carried(records)}"
        if not can_map:
            raise ProviderRefusedError(said)
        raise InvalidInputError(
            f"{said}: map them with fields={{'text': 'body', ...}}"
            " (on the command line: --field text=body)"
        )
    # Without numbers, several searches for one question give the same note once.
    notes += [f"{where}: some chunks were left out: {one.reason}" for one in unfit]
    return ForeignChunks(tuple(chunks), tuple(dict.fromkeys(notes)))


def first_chunks(
    records: Sequence[Record], fields: Fields, among: Among, where: str, *, can_map: bool = True
) -> list[ForeignDocument]:
    """Documents by their first chunks, whose texts are not needed for it."""
    named = [record._replace(text="?") for record in records]
    found = read(named, fields, among, where, can_map=can_map).chunks
    return [
        ForeignDocument(one.document, one.title, one.chunk_count, one.metadata) for one in found
    ]


def matches(value: object, asked: str | float | bool) -> bool:
    """Whether a field of `value` is what was asked for; one of a list is enough."""
    if isinstance(value, list | tuple):
        return any(matches(each, asked) for each in value)
    # True is 1 for Python, and for no store.
    return isinstance(value, bool) == isinstance(asked, bool) and value == asked


def understood(record: Record, fields: Fields, taken: frozenset[str]) -> ForeignChunk:
    """The row as a chunk; `taken` is what `fields` have. Raises `UnfitError` if it is none."""
    payload = record.payload
    document = look_up(payload, fields.document)
    if not isinstance(document, str | int) or isinstance(document, bool):
        raise _lacks("document", fields.document, document)
    text = look_up(payload, fields.text) or record.text
    if not isinstance(text, str):
        raise _lacks("text", fields.text, text)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnfitError(f"the text in {_named(fields.text)} is half a character") from None
    index = look_up(payload, fields.chunk_index)
    if index is not None and _counted(index) is None:
        raise _lacks("chunk index", fields.chunk_index, index)
    if index is None and not record.id:
        raise _lacks("chunk index", fields.chunk_index, index)
    start = _whole(look_up(payload, fields.start))
    end = _whole(look_up(payload, fields.end))
    if start is not None and not fields.end:
        end = start + len(text)
    if start is None or end is None or end - start != len(text):
        start = end = None
    return ForeignChunk(
        document=str(document),
        chunk_index=_counted(index),
        text=text,
        id=record.id,
        score=record.score,
        chunk_count=_counted(look_up(payload, fields.chunk_count)) or None,
        title=_text(look_up(payload, fields.title)),
        content_type=_text(look_up(payload, fields.content_type)),
        start=start,
        end=end,
        page=_page(look_up(payload, fields.page), fields.first_page),
        metadata=the_rest(payload, taken),
    )


def _whole(value: object) -> int | None:
    """A number from 0 on; some stores keep all numbers as fractions."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def _counted(value: object) -> int | None:
    number = _whole(value)
    return None if number is None or number > _MOST_CHUNKS else number


def _page(value: object, first: int) -> int | None:
    """From 1 on; some keep it as text."""
    page = int(value) if isinstance(value, str) and value.isdecimal() else _whole(value)
    return page + 1 - first if page is not None and page >= first else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _breach(payload: Payload, among: Among) -> str:
    """A field that shows another value than it should. What is not shown cannot be told."""
    for name, asked in among.fields:
        value = look_up(payload, (name,))
        if value is not None and not matches(value, asked):
            return name
    return ""


def _is_meant(
    chunk: ForeignChunk, among: Among, wanted: Mapping[DocumentId, Sequence[int]] | None
) -> bool:
    return (
        (among.documents is None or chunk.document in among.documents)
        and (among.titles is None or chunk.title in among.titles)
        and (among.content_types is None or chunk.content_type in among.content_types)
        and (wanted is None or chunk.chunk_index in wanted.get(chunk.document, ()))
    )


def _lacks(what: str, names: Names, value: object) -> UnfitError:
    if value is None:
        return UnfitError(f"no {what} in {_named(names)}")
    shown = repr(value)
    shown = shown if len(shown) <= _SHORT else f"{shown[:_SHORT]}…"
    return UnfitError(f"{_named(names)} is not a valid {what}", shown)


def _named(names: Names) -> str:
    return " or ".join(map(repr, names)) or "any field"


def carried(records: Sequence[Record]) -> str:
    """The names that rows have, for a message."""
    names = sorted({str(name) for record in records for name in record.payload})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(map(repr, names[:_SHOWN])) or "nothing") + more
