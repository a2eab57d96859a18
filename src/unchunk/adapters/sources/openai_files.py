"""The files of an OpenAI vector store, or of one on any server that speaks as OpenAI's does."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from urllib.parse import quote

from unchunk.adapters.sources.bounds import Bounds
from unchunk.adapters.sources.characters import is_sound
from unchunk.adapters.sources.openai_calls import Calls, Reply
from unchunk.adapters.sources.openai_clients import Client
from unchunk.adapters.sources.openai_shapes import Object, id_of, lost_file, page
from unchunk.adapters.sources.patience import Watch
from unchunk.errors import (
    IntegrityError,
    InvalidInputError,
    NotFoundError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports import LostChunks, LostFile

_PAGE = 100
_ABOUT = 1 << 20
_MOST_PARTS = 1_000_000
# So many names in a row that nobody answers for, and the next is asked for but once; so many, and
# no more are.
_FEW, _MANY = 3, 30


class OpenAIFiles:
    """`LostFiles` by the official SDK's client, which is not closed here unless it is `own`.

    A vector store does not tell the names of its files; each is asked for, many at once. Where it
    cannot be had, the file is called by its id, and a note says so. Where that goes on, the others
    are asked for only once, and then no more.
    """

    def __init__(
        self,
        client: Client,
        store: str,
        *,
        bounds: Bounds | None = None,
        own: bool = False,
    ) -> None:
        if store.strip() in ("", ".", "..") or not is_sound(store):
            raise InvalidInputError(f"{store!r} is not a vector store id: these look like vs_...")
        self._store = store
        self._bounds = bounds or Bounds()
        self._calls = Calls(client, self._bounds, own=own)
        self._path = f"/vector_stores/{quote(store, safe='')}/files"
        self._slots = asyncio.Semaphore(self._bounds.names)
        self._unanswered = 0
        self._unnamed: set[str] = set()

    @property
    def name(self) -> str:
        return self._store

    async def files(self) -> AsyncIterator[LostFile]:
        seen: set[str] = set()
        query: dict[str, object] = {"limit": _PAGE, "order": "asc"}
        what = f"the list of files of {self._store} at {self._calls.where}"
        watch = Watch(self._bounds, what)
        for _ in range(self._bounds.pages):
            watch.check()
            try:
                found = page((await self._calls.get(self._path, query)).value, what)
            except NotFoundError as error:
                raise NotFoundError(
                    f"there is no vector store {self._store} there, or not for this key: {error}"
                ) from None
            rows = {id_of(row, what): row for row in found.data}
            fresh = [(identity, row) for identity, row in rows.items() if identity not in seen]
            if not fresh and found.more:
                raise IntegrityError(f"{what} does not end: the same page came twice")
            seen.update(rows)
            for file in await self._described(fresh):
                yield file
            if not fresh or found.more is False:
                return
            query["after"] = id_of(found.data[-1], what)
        raise IntegrityError(f"{what} does not end: {self._bounds.pages} pages were enough")

    async def chunks(self, file: LostFile) -> LostChunks:
        texts: list[str] = []
        notes: list[str] = []
        cursors = {""}
        query: dict[str, object] = {}
        what = f"the content of {file.id} at {self._calls.where}"
        watch = Watch(self._bounds, what)
        other, left = 0, self._bounds.reply
        while True:
            watch.check()
            reply = await self._content(file, query, left)
            found = page(reply.value, what)
            parts = [row.get("text") for row in found.data]
            fresh = [part for part in parts if isinstance(part, str)]
            texts += fresh
            other += len(parts) - len(fresh)
            # Texts may be empty; what brings them is not.
            left -= reply.size
            if len(texts) > _MOST_PARTS:
                raise IntegrityError(f"{what} has more than {_MOST_PARTS:,} parts")
            if not found.more:
                break
            if not found.next_page:
                notes.append("the store says that there are more chunks, and not how to get them")
                break
            if found.next_page in cursors or not parts:
                raise IntegrityError(f"{what} does not end: a page brought nothing new")
            if len(cursors) == self._bounds.pages:
                raise IntegrityError(f"{what} does not end: {len(cursors)} pages were enough")
            cursors.add(found.next_page)
            query["page"] = found.next_page
        if other:
            notes.append(f"{other} of its parts are not text and are left out")
        complete = False if notes else None
        if file.id in self._unnamed:
            notes.append("the server does not tell what it is called: this is its id")
        return LostChunks(tuple(texts), notes=tuple(notes), complete=complete)

    async def close(self) -> None:
        await self._calls.close()

    async def _content(self, file: LostFile, query: Mapping[str, object], left: int) -> Reply:
        path = f"{self._path}/{quote(file.id, safe='')}/content"
        try:
            return await self._calls.get(path, query, most=left)
        except NotFoundError as error:
            raise NotFoundError(
                f"the server does not give the content of {file.id}: {error}. Azure has no such"
                " call in some versions: try a newer OPENAI_API_VERSION"
            ) from None

    async def _described(self, rows: Sequence[tuple[str, Object]]) -> list[LostFile]:
        """The files of some rows, with what is said of each as a file."""
        tasks = [asyncio.ensure_future(self._about(identity)) for identity, _ in rows]
        try:
            abouts = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return [
            lost_file(row, identity, about, self._calls.where)
            for (identity, row), about in zip(rows, abouts, strict=True)
        ]

    async def _about(self, identity: str) -> Object:
        path = f"/files/{quote(identity, safe='')}"
        async with self._slots:
            if self._unanswered >= _MANY:
                self._unnamed.add(identity)
                return {}
            once = self._unanswered >= _FEW
            try:
                about = (await self._calls.get(path, most=_ABOUT, once=once)).value
            except (NotFoundError, ProviderRefusedError, IntegrityError):
                # It may be deleted, or a key may read stores and no files; the chunks are there.
                return {}
            except ProviderUnavailableError:
                self._unanswered += 1
                self._unnamed.add(identity)
                return {}
            self._unanswered = 0
        self._unnamed.discard(identity)
        return about if isinstance(about, dict) else {}
