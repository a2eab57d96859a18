"""An engine beside a server that has the library.

What needs the index, or changes something, is done by the server. All else is read from the
catalog, which several processes may have open. Has the face of `Engine` as far as the commands
need it.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, get_args

import httpx2

from unchunk.beside.running import Running
from unchunk.beside.wire import (
    PATH,
    Documents,
    Looking,
    read,
    read_error,
    read_event,
    written,
)
from unchunk.chat.events import Event as ChatEvent
from unchunk.chat.request import ChatRequest
from unchunk.domain import json_object
from unchunk.engine import Engine, silent
from unchunk.errors import (
    ExtractionError,
    InvalidInputError,
    PermanentError,
    TransientError,
    UnchunkError,
)
from unchunk.library.committing import each
from unchunk.library.ingest import Event, Outcome, Stage
from unchunk.library.intake import Source, check_name, stage
from unchunk.library.purging import Receipt
from unchunk.library.reindexing import Reindexed
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import EVERYWHERE, Where
from unchunk.retrieval.snippets import Found

# Files that are sent at once; the server takes no more of one user at a time.
_AT_ONCE = 4
_CONNECTING = 10.0
_OK = 200
# Too slow, too many, not now.
_LATER = (408, 429, 503)

Told = Callable[[Any], None]


class EngineBeside:
    """`engine` reads the same library, `owner` is whose documents the commands are about."""

    def __init__(
        self, engine: Engine, running: Running, *, owner: str, version: str, max_bytes: int
    ) -> None:
        self._engine, self._running = engine, running
        self._owner, self._version, self._max_bytes = owner, version, max_bytes
        self._client = httpx2.AsyncClient(
            base_url=running.url,
            headers={"Authorization": f"Bearer {running.secret}"},
            # A document may take long; the server is on this machine, and says when it ends.
            timeout=httpx2.Timeout(None, connect=_CONNECTING),
            # Nobody stands between two processes of one machine.
            trust_env=False,
        )

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        return getattr(self._engine, name)

    async def add(
        self,
        *paths: str | Path,
        folder: str = "",
        report: Callable[[Event], None] = silent,
        found: Callable[[int], None] = silent,
    ) -> list[Outcome]:
        files = self._engine.files(*paths)
        found(len(files))
        return await self.add_files(files, folder=folder, report=report)

    async def add_files(
        self,
        files: Iterable[Source],
        *,
        folder: str = "",
        report: Callable[[Event], None] = silent,
    ) -> list[Outcome]:
        with TemporaryDirectory(prefix="unchunk-") as aside:
            return await each(
                files, _AT_ONCE, lambda one: self._add(one, folder, Path(aside), report)
            )

    async def retry(
        self,
        *documents: str,
        report: Callable[[Event], None] = silent,
        found: Callable[[int], None] = silent,
    ) -> list[Outcome]:
        chosen = (
            [await self._engine.document(one) for one in documents]
            if documents
            else await self._engine.documents()
        )
        drafts = tuple(one.id for one in chosen if one.draft is not None)
        found(len(drafts))
        if not drafts:
            return []
        given = await self._call("retry", Documents(drafts), _reporting(report))
        return [read(Outcome, one) for one in given]

    async def delete(self, reference: str) -> Receipt:
        document = await self._engine.document(reference)
        [given] = await self._call("delete", Documents((document.id,)))
        return read(Receipt, given)

    async def reindex(
        self, *references: str, report: Callable[[str, int, int], None] = silent
    ) -> Reindexed:
        given = await self._call("reindex", Documents(references), lambda told: report(*told))
        return read(Reindexed, given)

    async def search(self, question: str, *, limit: int = 10, where: Where = EVERYWHERE) -> Found:
        return read(Found, await self._call("search", Looking(question, where, limit)))

    async def retrieve(
        self, question: str, *, where: Where = EVERYWHERE, amount: Amount | None = None
    ) -> Evidence:
        much = amount or Amount()
        looking = Looking(
            question,
            where,
            much.limit,
            much.chunks_per_doc,
            much.include_adjacent,
            much.min_score,
            much.budget,
            much.full_documents,
            much.full_length,
            much.hits,
        )
        return read(Evidence, await self._call("retrieve", looking))

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        async with aclosing(self._lines("chat", json=written(ChatRequest, request))) as lines:
            async for line in lines:
                if "told" in line:
                    yield read_event(line["told"])

    async def migrate(self, **_: object) -> NoReturn:
        raise self._running.in_the_way("writing the whole library anew")

    async def doctor(self, **_: object) -> NoReturn:
        raise self._running.in_the_way("an examination")

    async def export(self, *_: object, **__: object) -> NoReturn:
        raise self._running.in_the_way("writing an archive")

    async def restore(self, *_: object, **__: object) -> NoReturn:
        raise self._running.in_the_way("bringing an archive in")

    async def close(self) -> None:
        try:
            await self._client.aclose()
        finally:
            await self._engine.close()

    async def _add(
        self, source: Source, folder: str, aside: Path, report: Callable[[Event], None]
    ) -> Outcome:
        fields = {"name": source.name, "folder": folder}
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
                given = await self._result("add", told, data=fields, files=sent)
        finally:
            staged.path.unlink(missing_ok=True)
        outcome = read(Outcome, given)
        report(Event("done", source.name))
        return outcome

    async def _call(self, call: str, given: object, told: Told = silent) -> Any:  # noqa: ANN401 - JSON
        return await self._result(call, told, json=written(type(given), given))

    async def _result(self, call: str, told: Told, **body: Any) -> Any:  # noqa: ANN401 - JSON
        """What the server says in the end; what it says before that goes to `told`."""
        async with aclosing(self._lines(call, **body)) as lines:
            async for line in lines:
                if "result" in line:
                    return line["result"]
                told(line["told"])
        raise TransientError(f"the server at {self._running.url} went away: try again")

    async def _lines(self, call: str, **body: Any) -> AsyncGenerator[dict[str, Any], None]:  # noqa: ANN401 - of HTTP
        self._running.check(self._owner, self._version)
        url = self._running.url
        try:
            async with self._client.stream("POST", f"{PATH}/{call}", **body) as reply:
                if reply.status_code != _OK:
                    raise _refusal(reply.status_code, await reply.aread())
                async for text in reply.aiter_lines():
                    line = json.loads(text)
                    if "error" in line:
                        raise read_error(line["error"])
                    yield line
        except httpx2.HTTPError as error:
            raise TransientError(f"the server at {url} does not answer: {error}") from error


def _reporting(
    report: Callable[[Event], None], stages: Sequence[str] = get_args(Stage)
) -> Callable[[Any], None]:
    def told(given: object) -> None:
        event = read(Event, given)
        if event.stage in stages:
            report(event)

    return told


def _refusal(status: int, body: bytes) -> UnchunkError:
    """Why the server did not even begin."""
    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the server answered with status {status}"
    return TransientError(message) if status in _LATER else PermanentError(message)
