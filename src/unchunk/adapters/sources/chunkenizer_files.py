"""The files of a Chunkenizer server. It gives no chunk but what is searched for, so it is searched.

Whatever the question, a search among the chunks of one document finds all of them, if the server
finds as many as asked for. Where it does not, the chunks next to those that are missing are asked
with: they are the most alike.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from unchunk.adapters.sources.asking import Server
from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.characters import is_sound, sound
from unchunk.adapters.sources.parts import Piece, part_of
from unchunk.adapters.sources.patience import Watch
from unchunk.adapters.sources.result_limit import MOST_RESULTS, ResultLimit
from unchunk.errors import IntegrityError, NotFoundError
from unchunk.ports import FieldValue, LostChunks, LostFile, LostStatus

_REPLY, _PAGES, _PAGE = 64 * 1024 * 1024, 2_000, 1_000
_MOST_QUESTIONS = 200
# What one takes beside its text.
_PER_PIECE = 200
# A short one is more like a chunk that shares it, a long one finds more of them.
_LONG_ENOUGH = (500, 150, 50)
_LONGEST_VALUE, _MOST_ATTRIBUTES = 1_000, 64
_WAITING = frozenset({"pending", "processing", "in_progress", "queued", "uploaded", "indexing"})
_FAILED = frozenset({"failed", "error"})


class ChunkenizerFiles:
    """`LostFiles` over a server. `timeout` is for all attempts at one call.

    Belongs to the event loop that it is first used in.
    """

    def __init__(
        self, url: str, *, key: str = "", timeout: float = 30.0, bounds: Bounds | None = None
    ) -> None:
        self._bounds = bounds or Bounds(reply=_REPLY, pages=_PAGES, patience=timeout)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._server = Server(url, "Chunkenizer", self._bounds, headers)
        self._counts: dict[str, int] = {}
        self._limit = ResultLimit()
        self._heeds = True

    @property
    def name(self) -> str:
        return self._server.where

    async def files(self) -> AsyncIterator[LostFile]:
        seen: set[str] = set()
        watch = Watch(self._bounds, f"the list of {self.name}")
        rows, total = await self._page("documents")
        for _ in range(self._bounds.pages):
            watch.check()
            new = [row for row in rows if _id(row) not in seen]
            for row in new:
                seen.add(_id(row))
                self._counts[_id(row)] = _whole(row.get("chunk_count")) or 0
                yield _file(row)
            if len(seen) >= total or not new:
                break
            rows, _ = await self._page(f"documents?limit={_PAGE}&offset={len(seen)}")
        if len(seen) < total:
            raise IntegrityError(
                f"{self.name} has {total:,} documents and lists {len(seen):,} of them"
            )

    async def chunks(self, file: LostFile) -> LostChunks:
        if file.id not in self._counts:
            async for _ in self.files():
                pass
        if file.id not in self._counts:
            raise NotFoundError(f"{self.name} has no document {file.id!r}")
        count = self._counts[file.id]
        found: dict[tuple[int | None, str], Piece] = {}
        asked: set[str] = set()
        watch = Watch(self._bounds, f"the document {file.id!r} of {self.name}")
        left = self._bounds.reply
        for _ in range(_MOST_QUESTIONS):
            watch.check()
            places = {piece.index or 0: piece.text for piece in found.values()}
            questions = _questions(file, places, count)
            question = next((it for it in questions if it.strip() and it not in asked), None)
            if question is None:
                break
            asked.add(question)
            for piece in await self._search(question, file.id, count):
                if found.setdefault((piece.index, piece.text), piece) is piece:
                    left -= len(piece.text) + _PER_PIECE
            if left < 0:
                raise IntegrityError(
                    f"the document {file.id!r} of {self.name} has more than"
                    f" {self._bounds.reply:,} characters: it is not fetched"
                )
        if not found:
            note = f"the server finds no chunk of the {count} that it says there are"
            return LostChunks((), None, (note,), None, complete=False)
        part = part_of(list(found.values()))
        return LostChunks(
            tuple(piece.text for piece in part.pieces),
            part.begins,
            tuple(part.notes),
            tuple(part.starts) if part.starts else None,
            complete=part.whole,
        )

    async def close(self) -> None:
        await self._server.close()

    async def _search(self, question: str, document: str, count: int) -> list[Piece]:
        """What is found of the document. Where filters are not heeded, it is among all others."""

        async def ask(top_k: int) -> object:
            body = {"query": question, "top_k": top_k, "filters": {"doc_id": document}}
            return await self._server.ask("POST", "search", body)

        while True:
            wanted = count if count and self._heeds else MOST_RESULTS
            reply, _ = await self._limit.search(wanted, ask)
            results = _listed(reply, "results", self.name)
            if self._heeds and any(one.get("document_id") != document for one in results):
                self._heeds = False
                continue
            pieces = [_piece(result, document, count) for result in results]
            found = [piece for piece in pieces if piece is not None]
            if beyond := next((it for it in found if count and (it.index or 0) >= count), None):
                raise IntegrityError(
                    f"{self.name} says that {document!r} has {count:,} chunks, and sends its chunk"
                    f" {beyond.index:,}"
                )
            return found

    async def _page(self, path: str) -> tuple[list[Mapping[str, object]], int]:
        reply = await self._server.ask("GET", path)
        rows = [row for row in _listed(reply, "documents", self.name) if _id(row)]
        for row in rows:
            if not is_sound(_id(row)):
                raise IntegrityError(f"{self.name} has a document whose id is {_id(row)[:60]!a}")
        total = _whole(reply.get("total")) if isinstance(reply, Mapping) else None
        return rows, len(rows) if total is None else total


def _questions(file: LostFile, found: Mapping[int, str], count: int) -> Iterator[str]:
    """What to ask next: by the name at first, then by the neighbours of what is missing."""
    yield file.name[: _LONG_ENOUGH[0]].strip() or "text"
    there = sorted(found)
    for length in _LONG_ENOUGH:
        for at in there:
            if at + 1 not in found and at + 1 < max(count, there[-1] + 1):
                yield found[at][-length:]
            if at and at - 1 not in found:
                yield found[at][:length]


def _piece(result: Mapping[str, object], document: str, count: int) -> Piece | None:
    text, index = result.get("chunk_text"), _whole(result.get("chunk_index"))
    if result.get("document_id") != document or not isinstance(text, str) or index is None:
        return None
    start, end = _whole(result.get("start")), _whole(result.get("end"))
    if start is None or end is None or end - start != len(text):
        start = None
    return Piece("", document, text, index, count or None, start, None, "", "")


def _file(row: Mapping[str, object]) -> LostFile:
    state = str(row.get("status") or "").lower()
    status: LostStatus = (
        "failed" if state in _FAILED else "in progress" if state in _WAITING else "ready"
    )
    problem = "" if status == "ready" else str(row.get("error") or state)[:_LONGEST_VALUE]
    # Nothing else changes with every text.
    mark = "-".join(str(row[it]) for it in ("sha256", "updated_at") if row.get(it))
    name = row.get("name")
    return LostFile(
        _id(row),
        sound(name) if isinstance(name, str) and name else _id(row),
        status,
        problem,
        attributes=dict(_attributes(row)),
        mark=mark[:_LONGEST_VALUE],
        size=_whole(row.get("size")) or None,
    )


def _attributes(row: Mapping[str, object]) -> Sequence[tuple[str, FieldValue]]:
    """What was given with the document, which is text that is JSON."""
    try:
        given = json.loads(str(row.get("metadata_json") or "{}"))
    except (ValueError, RecursionError):
        return []
    return [
        (name, value)
        for name, value in (given.items() if isinstance(given, dict) else ())
        if isinstance(value, str | int | float) and len(f"{name}{value}") <= _LONGEST_VALUE
    ][:_MOST_ATTRIBUTES]


def _listed(reply: object, name: str, where: str) -> Sequence[Mapping[str, object]]:
    rows = reply.get(name) if isinstance(reply, Mapping) else None
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise IntegrityError(f"the reply of {where} has no list of {name}; check the URL")
    return rows


def _id(row: Mapping[str, object]) -> str:
    value = row.get("id")
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
