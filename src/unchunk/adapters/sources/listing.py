"""Which files a collection holds, told by its rows without their texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from unchunk.adapters.sources.characters import is_sound, sound
from unchunk.adapters.sources.fields import Fields, Payload, look_up, the_rest
from unchunk.adapters.sources.reading import Record
from unchunk.errors import IntegrityError
from unchunk.ports import FieldValue, LostFile

STRAYS = "chunks of no file"
"""What those are called of which no file can be told."""

_LONGEST_ID, _LONGEST_NAME, _LONGEST_VALUE = 4_096, 200, 1_000
_MOST_ROWS, _MOST_ATTRIBUTES = 20_000_000, 64
_FILE_NAME = re.compile(r"[^\n\r]*[^\s/\\]\.\w{1,10}")
# What LlamaIndex writes where a node has no document.
_NOBODY = "None"


@dataclass(slots=True)
class _File:
    """What the rows seen so far say of a file; `alike` is what all of them carry."""

    name: str
    ids: list[str] = field(default_factory=list)
    alike: dict[str, FieldValue] = field(default_factory=dict)


class Listing:
    """Filled row by row. Holds the id of each, and what is said of each file once."""

    def __init__(self, fields: Fields, where: str) -> None:
        self._fields = fields
        self._taken = fields.taken()
        self._where = where
        self._files: dict[str, _File] = {}
        self._seen: set[str] = set()
        self._strays = 0

    def see(self, record: Record) -> bool:
        """Whether the row was not seen before."""
        if len(record.id) > _LONGEST_ID or len(self._seen) >= _MOST_ROWS:
            raise IntegrityError(f"{self._where} sends ids without end: it cannot be listed")
        if not is_sound(record.id):
            raise IntegrityError(f"{self._where} has a chunk whose id is {record.id[:60]!a}")
        if record.id in self._seen:
            return False
        self._seen.add(record.id)
        name = file_of(record.payload, self._fields)
        if name is None:
            self._strays += 1
            return True
        carried = self._carried(record.payload, name)
        file = self._files.get(name)
        if file is None:
            title = look_up(record.payload, self._fields.title)
            called = sound(_name(str(title or ""), name))
            file = self._files[name] = _File(called, alike=carried)
        else:
            file.alike = {
                key: value
                for key, value in file.alike.items()
                if key in carried and (type(carried[key]), carried[key]) == (type(value), value)
            }
        file.ids.append(record.id)
        return True

    def files(self) -> Iterator[LostFile]:
        for key, file in self._files.items():
            alike = dict(list(file.alike.items())[:_MOST_ATTRIBUTES])
            # No mark: no row tells whether its text is another one than it was.
            yield LostFile(key, file.name, attributes=alike)
        if self._strays:
            named = " or ".join(map(repr, self._fields.document))
            problem = f"chunks of {self._where} that name no document in {named}: {self._strays:,}"
            yield LostFile(STRAYS, STRAYS, "failed", problem)

    def ids(self, file: str) -> list[str] | None:
        """Of its rows, in the order of the store; None if there is no such file."""
        found = self._files.get(file)
        return found.ids if found else None

    def _carried(self, payload: Payload, name: str) -> dict[str, FieldValue]:
        rest = the_rest(payload, self._taken)
        for what in ("title", "content_type"):
            rest[what] = _plain(look_up(payload, getattr(self._fields, what)))
        return {
            key.removeprefix("metadata."): value
            for key, value in rest.items()
            if value not in (None, "", name)
            and not key.startswith("_")
            and len(key) <= _LONGEST_NAME
            and len(str(value)) <= _LONGEST_VALUE
        }


def file_of(payload: Payload, fields: Fields) -> str | None:
    """What a row says which file it is of: a document, or what the document is a page of."""
    document = look_up(payload, fields.document)
    if not isinstance(document, str | int) or isinstance(document, bool):
        return None
    if document == _NOBODY and "_node_type" in payload:
        return None
    file = look_up(payload, fields.file)
    if isinstance(file, str) and look_up(payload, fields.page) is not None:
        document = file
    name = str(document)
    return name if len(name) <= _LONGEST_ID else None


def _name(title: str, document: str) -> str:
    """The one of both that is the name of a file, else a title, if there is one."""
    last = re.split(r"[/\\]", document.rstrip("/\\"))[-1]
    if _FILE_NAME.fullmatch(title):
        return title
    return last if _FILE_NAME.fullmatch(last) or not title else title


def _plain(value: object) -> FieldValue:
    return value if isinstance(value, str | int | float) else None
