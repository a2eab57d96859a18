"""All that is done with vector stores and files, as `engine.stores`."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from unchunk.domain import OwnerId
from unchunk.errors import NotFoundError, UnchunkError
from unchunk.ports import Catalog, KeptResponse, ResponseId
from unchunk.stores.files import Files
from unchunk.stores.finding import Finding
from unchunk.stores.memberships import Memberships
from unchunk.stores.parts import Forgetting, Library, StoreParts, plainly
from unchunk.stores.register import Register
from unchunk.stores.windows import WindowCache
from unchunk.telemetry import log

# As OpenAI keeps answers.
_RESPONSES_LIVE = timedelta(days=30)


class VectorStores(Files, Register, Memberships, Finding):
    """Stores and files of a library. `owner` is whose a call is about; others' are not there."""

    def __init__(self, library: Library, catalog: Catalog, parts: StoreParts) -> None:
        self._library, self._catalog, self._parts = library, catalog, parts
        self._windows = WindowCache(catalog)

    async def keep_response(
        self, response: ResponseId, body: Mapping[str, object], *, owner: OwnerId
    ) -> KeptResponse:
        """Keep an answer, to be asked for again for 30 days; `body` is JSON."""
        kept = KeptResponse(response, owner, self._parts.clock(), body)
        await self._parts.responses.keep(kept)
        return kept

    async def response(self, response: ResponseId, *, owner: OwnerId) -> KeptResponse:
        return await self._parts.responses.get(owner, response)

    async def delete_response(self, response: ResponseId, *, owner: OwnerId) -> None:
        await self._parts.responses.delete(owner, response)

    async def sweep(self, now: datetime, forgetting: Forgetting = plainly) -> int:
        """Delete all owners' files whose time is over, and answers that are too old.

        How many files went is returned. One that cannot go is tried again the next time;
        `forgetting` is entered while a file is deleted.
        """
        swept = 0
        for document in await self._parts.notes.expired(now):
            try:
                if await self._parts.notes.get(document.owner, [document.id], now):
                    continue  # somebody has replaced it meanwhile
                with forgetting(document.id):
                    receipt = await self._library.delete(document.id, owner=document.owner)
            except NotFoundError:
                continue  # somebody was quicker
            except UnchunkError as error:
                log("%s has expired and cannot be deleted yet: %s", document.id, error)
                continue
            swept += 1
            if not receipt.clean:
                log("%s has expired; something of it is left: %s", document.id, receipt.problem)
        if forgotten := await self._parts.responses.forget(now - _RESPONSES_LIVE):
            log("%d old answers were forgotten", forgotten)
        return swept
