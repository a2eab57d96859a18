"""What the chunks that a search found say, in plain SQL."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from unchunk.adapters.catalog.file import Ask
from unchunk.adapters.catalog.finding import marks, owned
from unchunk.adapters.catalog.packing import unpack_some
from unchunk.adapters.catalog.rows import in_batches
from unchunk.domain import Chunk, DocumentId, Opened, OwnerId, Version
from unchunk.errors import IntegrityError

BLOCK: Final = 2**14
"""How many characters of a text lie in one row, so that a passage costs a row or two.

Part of the format: another number needs a migration.
"""

_LAYOUTS = "SELECT document, generation, chunks FROM layouts WHERE document IN "
# SQLite reads the whole table for a list of tuples, but not for a join.
_BLOCKS = (
    "SELECT texts.document, texts.block, texts.content FROM (VALUES {}) AS wanted JOIN texts"
    " ON texts.document = wanted.column1 AND texts.generation = wanted.column2"
    " AND texts.block = wanted.column3"
)


def open_documents(
    ask: Ask, owner: OwnerId, wanted: Mapping[DocumentId, Sequence[int]]
) -> dict[DocumentId, Opened]:
    """Three statements, however many documents and chunks there are."""
    live = {
        one.id: (one, one.live) for one in owned(ask, owner, list(wanted)) if one.live is not None
    }
    chunks = _chunks(ask, {it: version for it, (_, version) in live.items()}, wanted)
    says = _texts(ask, {it: live[it][1] for it in chunks}, chunks)
    return {
        identity: Opened(document, version, says.get(identity, {}))
        for identity, (document, version) in live.items()
    }


def _chunks(
    ask: Ask,
    live: Mapping[DocumentId, Version],
    wanted: Mapping[DocumentId, Sequence[int]],
) -> dict[DocumentId, list[Chunk]]:
    found = {}
    for batch in in_batches([it for it in live if wanted[it]]):
        for document, generation, packed in ask(_LAYOUTS + marks(len(batch)), batch):
            if generation == live[document].generation:
                try:
                    found[document] = unpack_some(bytes(packed), wanted[document])
                except (ValueError, LookupError) as error:
                    raise damaged_text(document) from error
    return found


def _texts(
    ask: Ask,
    live: Mapping[DocumentId, Version],
    chunks: Mapping[DocumentId, Sequence[Chunk]],
) -> dict[DocumentId, dict[int, tuple[Chunk, str]]]:
    needed = {
        (document, live[document].generation, block)
        for document, its_chunks in chunks.items()
        for chunk in its_chunks
        for block in _blocks_of(chunk)
    }
    blocks: dict[DocumentId, dict[int, bytes]] = {it: {} for it in chunks}
    for batch in in_batches(sorted(needed)):
        places = ", ".join([marks(3)] * len(batch))
        values = tuple(chain.from_iterable(batch))
        for document, block, content in ask(_BLOCKS.format(places), values):
            blocks[document][block] = content
    found = {}
    for document, its_blocks in blocks.items():
        try:
            found[document] = _cut(its_blocks, chunks[document])
        except ValueError as error:
            raise damaged_text(document) from error
    return found


def _cut(blocks: Mapping[int, bytes], chunks: Iterable[Chunk]) -> dict[int, tuple[Chunk, str]]:
    """What the chunks of a document say, but for those of which a block is gone: it was written
    anew or deleted since.
    """
    texts = {at: bytes(one).decode("utf-8", "surrogatepass") for at, one in blocks.items()}
    found = {}
    for chunk in chunks:
        needed = _blocks_of(chunk)
        parts = [texts[at] for at in needed if at in texts]
        if len(parts) == len(needed):
            before = needed[0] * BLOCK
            says = "".join(parts)[chunk.start - before : chunk.end - before]
            if len(says) != chunk.end - chunk.start:
                raise ValueError
            found[chunk.chunk_index] = (chunk, says)
    return found


def _blocks_of(chunk: Chunk) -> range:
    return range(chunk.start // BLOCK, max(chunk.start, chunk.end - 1) // BLOCK + 1)


def damaged_text(document: DocumentId) -> IntegrityError:
    """A database does not notice when its disk gives back other bytes than it was given."""
    return IntegrityError(f"what is kept of document {document!r} is damaged; add it again")
