"""The port `Conversations`, in the database of the catalog."""

from functools import partial
from typing import TYPE_CHECKING

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.finding import is_answering
from unchunk.adapters.catalog.later import room
from unchunk.domain import Answered, ChatTurn, Conversation, ConversationId, OwnerId

if TYPE_CHECKING:
    from unchunk.adapters.catalog import talks
else:
    talks = room("talks")


class SqlConversations:
    """Lives as long as the catalog on the same database.

    `updated_at` is when something was last said: a new title does not move a conversation.
    `holder` is this process, as leases know it, where others answer on the same database.
    """

    def __init__(self, database: Database, holder: str | None = None) -> None:
        self._database, self._holder = database, holder

    async def start(self, owner: OwnerId, *, title: str = "", folder: str = "") -> Conversation:
        return await self._database.write(
            partial(talks.start, owner=owner, title=title, folder=folder)
        )

    async def recent(
        self, owner: OwnerId, limit: int = 50, before: ConversationId | None = None
    ) -> list[Conversation]:
        """`before` counts where it is now: if it was spoken in since it was seen, those that were
        seen before it come again, and none is passed over.
        """
        return await self._database.read(
            partial(talks.recent, owner=owner, limit=limit, before=before)
        )

    async def get(self, owner: OwnerId, conversation: ConversationId) -> Conversation:
        found = await self._database.read(
            partial(talks.conversation_row, owner=owner, conversation=conversation)
        )
        return talks.conversation_in(found)

    async def turns(
        self, owner: OwnerId, conversation: ConversationId, last: int | None = None
    ) -> list[ChatTurn]:
        return await self._database.read(
            partial(talks.turns_of, owner=owner, conversation=conversation, last=last)
        )

    async def ask(self, owner: OwnerId, conversation: ConversationId, question: str) -> int:
        work = partial(talks.ask, owner=owner, conversation=conversation, question=question)
        return await self._database.write(partial(work, holder=self._holder))

    async def answer(
        self, owner: OwnerId, conversation: ConversationId, number: int, given: Answered
    ) -> None:
        await self._database.write(
            partial(
                talks.answer, owner=owner, conversation=conversation, number=number, given=given
            )
        )

    async def abandon(self) -> int:
        """Those of other processes that live stay, and of this one where there are others."""
        # Mostly there is none, and who only searches needs no more than to know that.
        if not await self._database.ask(is_answering):
            return 0
        return await self._database.write(partial(talks.abandon, holder=self._holder))

    async def rename(
        self, owner: OwnerId, conversation: ConversationId, title: str
    ) -> Conversation:
        """Without a title, it is called by its first question again."""
        return await self._database.write(
            partial(talks.rename, owner=owner, conversation=conversation, title=title)
        )

    async def delete(self, owner: OwnerId, conversation: ConversationId) -> None:
        await self._database.write(partial(talks.remove, owner=owner, conversation=conversation))
