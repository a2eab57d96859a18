"""Why a question is answered as it is: all that is known before a model is asked."""

from dataclasses import dataclass, field

from unchunk.chat.events import Used, Warned
from unchunk.chat.keeping import continued, said_before
from unchunk.chat.part_reading import unread
from unchunk.chat.parts import ChatParts
from unchunk.chat.preparing import prepare, understood, used
from unchunk.chat.request import NEW, ChatRequest
from unchunk.domain import OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import Message
from unchunk.retrieval.retriever import Evidence


@dataclass(frozen=True, slots=True)
class Explanation:
    """`messages` are exactly those that a model would be sent; none where it would not be asked.

    Where documents would be read part by part, they are what would be sent instead; a warning says so.

    `evidence` is None where no documents are asked.
    """

    evidence: Evidence | None
    messages: tuple[Message, ...] = field(repr=False)
    template: str
    usage: Used
    warnings: tuple[Warned, ...] = ()


async def explain(
    parts: ChatParts,
    request: ChatRequest,
    owner: OwnerId,
    request_id: str = "",
    before_turn: int | None = None,
) -> Explanation:
    """As a turn begins; but no model is asked to answer, and nothing is kept.

    With `before_turn`, as that turn of the conversation began: what came later is not read.
    """
    is_kept = request.conversation not in ("", NEW)
    if before_turn is not None and not is_kept:
        raise InvalidInputError("a turn is of a conversation: say of which")
    request = await understood(parts, request)
    before = None
    if is_kept:
        before = await said_before(parts.conversations, request.conversation, owner, before_turn)
    task = await prepare(parts, continued(request, before, owner, request_id))
    found = task.found
    warnings = (*found.warnings, *(unread(task.parts) if task.parts else ())) if found else ()
    return Explanation(
        found.evidence if found else None,
        tuple(task.messages or ()),
        (request.template or parts.manner.template) if found else "",
        used(task),
        warnings,
    )
