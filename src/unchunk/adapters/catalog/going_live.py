"""The one moment when documents change for whoever searches: all of them, or none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, Connection, bindparam, delete, select, update

from unchunk.adapters.catalog.changes import count_change, now, retire
from unchunk.adapters.catalog.dialects import in_batches, insert
from unchunk.adapters.catalog.packing import pack_chunks, pack_outline
from unchunk.adapters.catalog.prepared import rows_with, write
from unchunk.adapters.catalog.reading import BLOCK
from unchunk.adapters.catalog.rows import quoted, version_of, version_row
from unchunk.adapters.catalog.schema import documents, layouts, notes, remains, texts, versions
from unchunk.domain import DocumentId, OwnerId, Version, Whole
from unchunk.ports import SPACE

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite

_BLOCKS_AT_ONCE = 1024
_POINTERS = ("live", "draft", "rewriting", "last", "error_code", "error", "updated_at")
_WANTED: BindParameter[str] = bindparam("wanted", expanding=True)
_STATE = ("id", "owner", "live", "draft", "last", "error_code", "error", "rewriting")
_STATES = (
    select(*(documents.c[name] for name in _STATE))
    .where(documents.c.id.in_(_WANTED))
    .order_by(documents.c.id)
    .with_for_update()
)
_VERSIONS = select(versions).where(versions.c.document.in_(_WANTED))
_SPACES = (
    select(notes.c.key, notes.c.value)
    .where(notes.c.key.in_(_WANTED))
    .order_by(notes.c.key)
    .with_for_update(read=True)
)
_LISTED = delete(remains).where(
    remains.c.document == bindparam("its_document"),
    remains.c.generation == bindparam("its_generation"),
)
_POINTED = (
    update(documents)
    .where(documents.c.id == bindparam("its_id"))
    .values({name: bindparam(name) for name in _POINTERS})
)
_NEW_LAYOUT, _NEW_BLOCK = layouts.insert(), texts.insert()


@dataclass(slots=True)
class _State:
    """A document while it is worked on, with its versions by generation, remains too."""

    owner: OwnerId
    live: int | None
    draft: int | None
    last: int
    error_code: str
    error: str
    rewriting: int | None
    known: dict[int, Version] = field(default_factory=dict)

    def admits(self, version: Version) -> bool:
        """The draft always; another only if it is the live or the coming content written anew.

        An older content, whose blob goes or is gone, must not come back, however high its
        generation.
        """
        if version.generation == self.draft:
            return True
        # Once it was forgotten its chunks are gone.
        if version.generation != self.rewriting or version.generation not in self.known:
            return False
        return any(_same_content(version, one) for one in self.seen())

    def seen(self) -> list[Version]:
        return [self.known[it] for it in (self.live, self.draft) if it is not None]

    def take(self, version: Version) -> list[Version]:
        """Make it live; those that nobody sees any more are returned."""
        old = [] if self.live is None else [self.known[self.live]]
        if self.draft is not None:
            draft = self.known[self.draft]
            is_it = draft.generation == version.generation
            if is_it or _same_content(draft, version):
                old += [] if is_it else [draft]
                # Its content is live now; the failure of an earlier try is no more.
                self.draft, self.error_code, self.error = None, "", quoted("")
        self.known[version.generation] = version
        self.live, self.last = version.generation, max(self.last, version.generation)
        # Whatever else is being written anew was read from what is not live any more.
        self.rewriting = None
        return old


def _same_content(one: Version, other: Version) -> bool:
    # The blob alone does not do: of some contents no original is kept.
    return (one.checksum, one.blob) == (other.checksum, other.blob)


def go_live(connection: Connection, wholes: Sequence[Whole]) -> list[DocumentId]:
    states = _states(connection, sorted({whole.version.document for whole in wholes}))
    retired = _retired(connection, sorted({whole.version.space for whole in wholes}))
    old: dict[DocumentId, list[Version]] = {}
    taken: list[Whole] = []
    listed: list[Version] = []
    done: dict[DocumentId, None] = {}
    for whole in wholes:
        version = whole.version
        state = states.get(version.document)
        if state is None:
            continue
        if version.generation == state.live:
            done[version.document] = None
        elif version.space not in retired and state.admits(version):
            if version.generation == state.rewriting:
                listed.append(version)
            old.setdefault(version.document, []).extend(state.take(version))
            taken.append(whole)
            done[version.document] = None
    if taken:
        _write(connection, taken)
        _unlist(connection, listed)
        _point(connection, {document: states[document] for document in old})
        for document, gone in old.items():
            kept = {version.blob for version in states[document].seen()}
            retire(connection, states[document].owner, gone, kept)
        count_change(connection)
    return list(done)


def _states(connection: Connection, wanted: Sequence[DocumentId]) -> dict[DocumentId, _State]:
    """Locked in the order of ids, so that two writers never wait for each other."""
    states = {}
    for batch in in_batches(wanted):
        for document, *values in rows_with(connection, _STATES, batch):
            states[document] = _State(*values)
        for row in rows_with(connection, _VERSIONS, batch):
            version = version_of(row)
            if version.document in states:
                states[version.document].known[version.generation] = version
    return states


def _retired(connection: Connection, spaces: Sequence[str]) -> set[str]:
    """Those in which nothing goes live any more; of the others none is retired until the end."""
    rows = rows_with(connection, _SPACES, [SPACE + name for name in spaces])
    return {key.removeprefix(SPACE) for key, value in rows if not value}


def _unlist(connection: Connection, listed: Sequence[Version]) -> None:
    """What was to go if it had not come so far is here to stay."""
    rows = [{"its_document": one.document, "its_generation": one.generation} for one in listed]
    write(connection, _LISTED, *rows)


def _write(connection: Connection, wholes: Sequence[Whole]) -> None:
    rows = [version_row(whole.version) for whole in wholes]
    write(connection, _written(connection.dialect.name), *rows)
    write(connection, _NEW_LAYOUT, *map(_layout, wholes))
    blocks = chain.from_iterable(map(_blocks, wholes))
    while some := list(islice(blocks, _BLOCKS_AT_ONCE)):
        write(connection, _NEW_BLOCK, *some)


@lru_cache
def _written(dialect: str) -> "sqlite.Insert | postgresql.Insert":
    statement = insert(dialect, versions)
    # A draft has its row already.
    over = {column.name: column for column in statement.excluded if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=["document", "generation"], set_=over)


def _layout(whole: Whole) -> dict[str, Any]:
    return {
        "document": whole.version.document,
        "generation": whole.version.generation,
        "chunks": pack_chunks(whole.chunks),
        "outline": pack_outline(whole.pages, whole.headings),
    }


def _blocks(whole: Whole) -> Iterator[dict[str, Any]]:
    for block, start in enumerate(range(0, len(whole.text), BLOCK)):
        yield {
            "document": whole.version.document,
            "generation": whole.version.generation,
            "block": block,
            "content": whole.text[start : start + BLOCK].encode("utf-8", "surrogatepass"),
        }


def _point(connection: Connection, states: dict[DocumentId, _State]) -> None:
    moment = now()
    rows = [
        {
            "its_id": document,
            "live": state.live,
            "draft": state.draft,
            "rewriting": state.rewriting,
            "last": state.last,
            "error_code": state.error_code,
            "error": state.error,
            "updated_at": moment,
        }
        for document, state in states.items()
    ]
    write(connection, _POINTED, *rows)
