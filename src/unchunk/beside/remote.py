"""An engine whose library is open in a server, which does what needs the index or changes something.

Everything else is read from the catalog, which several processes may have open. It has the methods
of `Engine`.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from unchunk.beside.line import Line
from unchunk.beside.running import Running
from unchunk.beside.wire import (
    Documents,
    Explaining,
    Facts,
    FileName,
    Looking,
    RagSearch,
    read,
    read_event,
    said_of,
)
from unchunk.chat.events import Answer, gathered
from unchunk.chat.events import Event as ChatEvent
from unchunk.chat.explaining import Explanation
from unchunk.chat.request import ChatRequest
from unchunk.chat.request import question as messages_of
from unchunk.domain import DocumentId, EmbedderIdentity, json_object
from unchunk.engine import Counts, Engine, Makeup, silent
from unchunk.errors import ExtractionError, InvalidInputError
from unchunk.library.committing import each
from unchunk.library.ingest import Event, Outcome, Stage
from unchunk.library.intake import Source, check_name, stage
from unchunk.library.purging import Receipt
from unchunk.library.reindexing import Reindexed
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.asking import check_mode
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.query import Mode, Turn
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import EVERYWHERE, Card, Where
from unchunk.retrieval.snippets import Found
from unchunk.telemetry import Condition

if TYPE_CHECKING:
    from unchunk.stores import VectorStores

# Files that are sent at once; the server takes no more of one user at a time.
_AT_ONCE = 4
# Documents that are deleted by one call.
_DELETED = 100


class RemoteEngine:
    """Ask the server that `find` returns, and read the rest with `engine`.

    `owner` is the one that the settings name; the server works for no other. `source` is the
    collection that they name to be searched instead of the library, if any.
    """

    def __init__(
        self,
        engine: Engine,
        find: Callable[[], Running | None],
        *,
        owner: str,
        version: str,
        max_bytes: int,
        source: str = "",
    ) -> None:
        self._engine, self._line = engine, Line(find, version, source)
        self._owner, self._max_bytes = owner, max_bytes

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        if name.startswith("_"):
            # `copy` and others look for such methods before there is an engine to ask.
            raise AttributeError(name)
        return getattr(self._engine, name)

    @cached_property
    def stores(self) -> "VectorStores":
        return self._engine.stores_over(self)

    async def add(
        self,
        *paths: str | Path,
        folder: str = "",
        owner: str | None = None,
        report: Callable[[Event], None] = silent,
        found: Callable[[int], None] = silent,
    ) -> list[Outcome]:
        files = self._engine.files(*paths)
        found(len(files))
        return await self.add_files(files, folder=folder, owner=owner, report=report)

    async def add_file(
        self,
        path: Path,
        name: str,
        *,
        folder: str = "",
        owner: str | None = None,
        attributes: Mapping[str, object] | None = None,
    ) -> Outcome:
        source = Source(path, check_name(name), attributes=attributes)
        if attributes is not None:
            json_object(attributes, "attributes")
        [outcome] = await self.add_files([source], folder=folder, owner=owner)
        return outcome

    async def add_files(
        self,
        files: Iterable[Source],
        *,
        folder: str = "",
        owner: str | None = None,
        report: Callable[[Event], None] = silent,
    ) -> list[Outcome]:
        fields = {"folder": folder}
        with TemporaryDirectory(prefix="unchunk-") as aside:
            return await each(
                files,
                _AT_ONCE,
                lambda one: self._add(one, fields, self._whose(owner), Path(aside), report),
            )

    async def retry(
        self,
        *documents: str,
        owner: str | None = None,
        report: Callable[[Event], None] = silent,
        found: Callable[[int], None] = silent,
    ) -> list[Outcome]:
        chosen = (
            [await self._engine.document(one, owner=owner) for one in documents]
            if documents
            else await self._engine.documents(owner=owner)
        )
        drafts = tuple(one.id for one in chosen if one.draft is not None)
        found(len(drafts))
        if not drafts:
            return []
        given = await self._call("retry", Documents(drafts), owner, _reporting(report))
        return [read(Outcome, one) for one in given]

    async def delete(self, reference: str, *, owner: str | None = None) -> Receipt:
        document = await self._engine.document(reference, owner=owner)
        [receipt] = await self._delete([document.id], owner)
        return receipt

    async def delete_folder(self, folder: str, *, owner: str | None = None) -> list[Receipt]:
        found = [one.id for one in await self._engine.documents(folder, owner=owner)]
        receipts = []
        for at in range(0, len(found), _DELETED):
            receipts += await self._delete(found[at : at + _DELETED], owner)
        return receipts

    async def reindex(
        self,
        *references: str,
        owner: str | None = None,
        report: Callable[[str, int, int], None] = silent,
    ) -> Reindexed:
        given = await self._call(
            "reindex", Documents(references), owner, lambda told: report(*told)
        )
        return read(Reindexed, given)

    async def search(
        self,
        question: str,
        *,
        limit: int = 10,
        where: Where = EVERYWHERE,
        owner: str | None = None,
    ) -> Found:
        return read(Found, await self._call("search", Looking(question, where, limit), owner))

    async def search_library(
        self,
        question: str,
        *,
        limit: int = 10,
        where: Where = EVERYWHERE,
        owner: str | None = None,
    ) -> Found:
        looking = Looking(question, where, limit)
        return read(Found, await self._call("search_library", looking, owner))

    async def retrieve(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        where: Where = EVERYWHERE,
        amount: Amount | None = None,
        owner: str | None = None,
        rewritten: str = "",
        mode: Mode | None = None,
        include: Sequence[tuple[DocumentId, int]] = (),
    ) -> Evidence:
        check_mode(mode)
        looking = Looking(
            question,
            where,
            amount=None if amount is None else said_of(amount),
            history=tuple(history),
            rewritten=rewritten,
            mode=mode,
            include=tuple(include),
        )
        return read(Evidence, await self._call("retrieve", looking, owner))

    async def search_with_context(
        self,
        query: str,
        limit: int = 10,
        chunks_per_doc: int | None = 3,
        include_adjacent: bool = True,
        min_score: float | None = None,
        *,
        content_type: str | None = None,
        adjacent_documents: int | None = None,
        where: Where = EVERYWHERE,
        owner: str | None = None,
    ) -> list[ReconstructedDocument]:
        amount = Amount(
            limit,
            chunks_per_doc,
            include_adjacent,
            min_score,
            adjacent_documents=adjacent_documents,
        )
        looking = Looking(query, where, content_type=content_type, amount=said_of(amount))
        given = await self._call("search_with_context", looking, owner)
        return [read(ReconstructedDocument, one) for one in given]

    async def rag_search(
        self,
        query: str,
        use_chunk_aware: bool = True,
        limit: int = 10,
        show_content: bool = True,
        *,
        owner: str | None = None,
    ) -> str:
        asked = RagSearch(query, use_chunk_aware, limit, show_content)
        return str(await self._call("rag_search", asked, owner))

    async def find_file_by_name(self, file_name: str, *, owner: str | None = None) -> list[Card]:
        given = await self._call("find_file_by_name", FileName(file_name), owner)
        return [read(Card, one) for one in given]

    @property
    def searches_elsewhere(self) -> bool:
        return self._facts().searches_elsewhere

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The server's: that is the one with the threshold that holds."""
        return self._facts().embedder

    async def makeup(self) -> Makeup:
        return read(Makeup, await self._call("makeup", Documents(), None))

    async def chat(
        self, request: ChatRequest, *, owner: str | None = None, request_id: str = ""
    ) -> AsyncGenerator[ChatEvent, None]:
        lines = self._line.lines("chat", self._whose(owner), request_id, given=request)
        async with aclosing(lines):
            async for line in lines:
                if "told" in line:
                    yield read_event(line["told"])

    async def ask(
        self, question: str | ChatRequest, *, owner: str | None = None, request_id: str = ""
    ) -> Answer:
        asked = ChatRequest(messages_of(question)) if isinstance(question, str) else question
        return await gathered(self.chat(asked, owner=owner, request_id=request_id))

    async def explain(
        self,
        request: ChatRequest,
        *,
        owner: str | None = None,
        request_id: str = "",
        before_turn: int | None = None,
    ) -> Explanation:
        asked = Explaining(request, before_turn)
        return read(
            Explanation,
            await self._line.call("explain", self._whose(owner), asked, request_id=request_id),
        )

    async def counts(self, *, owner: str | None = None) -> Counts:
        """Of the owner's documents; the counters are the server's."""
        return read(Counts, await self._call("counts", Documents(), owner))

    async def health(self) -> dict[str, Condition]:
        given = await self._call("health", Documents(), None)
        return {name: Condition(**it) for name, it in given.items()}

    async def migrate(self, **_: object) -> NoReturn:
        raise self._line.in_the_way("`reindex --all`")

    async def doctor(self, **_: object) -> NoReturn:
        raise self._line.in_the_way("`doctor`")

    async def export(self, *_: object, **__: object) -> NoReturn:
        raise self._line.in_the_way("`export`")

    async def restore(self, *_: object, **__: object) -> NoReturn:
        raise self._line.in_the_way("`import`")

    async def close(self) -> None:
        """Close the connection. The engine belongs to the caller."""
        await self._line.close()

    async def _delete(self, documents: Sequence[DocumentId], owner: str | None) -> list[Receipt]:
        given = await self._call("delete", Documents(tuple(documents)), owner)
        return [read(Receipt, one) for one in given]

    async def _add(
        self,
        source: Source,
        fields: dict[str, str],
        owner: str,
        aside: Path,
        report: Callable[[Event], None],
    ) -> Outcome:
        fields = {"name": source.name, **fields}
        code = "name"
        try:
            check_name(source.name)
            code = InvalidInputError.code
            if source.attributes is not None:
                fields["attributes"] = json.dumps(json_object(source.attributes, "attributes"))
            staged = await stage(source, aside, self._max_bytes)
        except (ExtractionError, InvalidInputError) as error:
            report(Event("read", source.name))
            report(Event("done", source.name))
            code = code if isinstance(error, InvalidInputError) else error.code
            return Outcome(source.name, "failed", error_code=code, error=str(error))
        report(Event("read", source.name))
        try:
            with staged.path.open("rb") as file:
                sent = {"file": ("file", file, "application/octet-stream")}
                # When it was read and when it is done is told here.
                told = _reporting(report, ("extracted", "embedding"))
                given = await self._line.result("add", owner, told, data=fields, files=sent)
        finally:
            staged.path.unlink(missing_ok=True)
        outcome = read(Outcome, given)
        report(Event("done", source.name))
        return outcome

    async def _call(
        self,
        name: str,
        given: object,
        owner: str | None,
        told: Callable[[Any], None] = silent,
    ) -> Any:  # noqa: ANN401 - JSON
        return await self._line.call(name, self._whose(owner), given, told)

    def _facts(self) -> Facts:
        return read(Facts, self._line.call_now("facts", self._owner, Documents()))

    def _whose(self, owner: str | None) -> str:
        return self._owner if owner is None else owner


def _reporting(
    report: Callable[[Event], None], stages: Sequence[str] = get_args(Stage)
) -> Callable[[Any], None]:
    def told(given: object) -> None:
        event = read(Event, given)
        if event.stage in stages:
            report(event)

    return told
