"""What is said in conversations, over one connection."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    delete,
    exists,
    literal,
    not_,
    or_,
    select,
    text,
    tuple_,
    update,
)

from unchunk.adapters.catalog.changes import new_id, now
from unchunk.adapters.catalog.dialects import clock
from unchunk.adapters.catalog.rows import (
    is_storable,
    json_of,
    kept_json,
    kept_text,
    storable,
    text_of,
    time_of,
)
from unchunk.adapters.catalog.schema import conversations, leases, turns
from unchunk.adapters.catalog.terms import PENDING
from unchunk.domain import Answered, ChatTurn, Conversation, ConversationId, OwnerId, json_object
from unchunk.errors import IntegrityError, NotFoundError

_TITLE = 60
PROCESS = "process/"
"""What the lease of a process begins with, as long as it has a library open."""


def title_of(question: str) -> str:
    """Its first line that says something, shortened at the end of a word."""
    line = next((line for line in map(_in_one_line, question.splitlines()) if line), "")
    if len(line) <= _TITLE:
        return line
    cut = line.rfind(" ", _TITLE // 2, _TITLE)
    return f"{line[: cut if cut > 0 else _TITLE - 1]}…"


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def start(connection: Connection, owner: OwnerId, title: str, folder: str) -> Conversation:
    storable(owner=owner)
    moment = now()
    made = {
        "id": new_id(moment),
        "owner": owner,
        "title": kept_text(title, "a title"),
        "folder": kept_text(folder, "a folder"),
        "turn_count": 0,
        "created_at": moment,
        "updated_at": moment,
    }
    connection.execute(conversations.insert(), made)
    return conversation_in(tuple(made.values()))


def recent(
    connection: Connection, owner: OwnerId, limit: int, before: ConversationId | None
) -> list[Conversation]:
    newest = tuple_(conversations.c.updated_at, conversations.c.id)
    wanted = select(conversations).where(conversations.c.owner == owner)
    if before is not None:
        seen = conversation_row(connection, owner, before)
        wanted = wanted.where(newest < (seen.updated_at, seen.id))
    if limit < 1 or not is_storable(owner):
        return []
    ordered = wanted.order_by(conversations.c.updated_at.desc(), conversations.c.id.desc())
    return list(map(conversation_in, connection.execute(ordered.limit(limit))))


def turns_of(
    connection: Connection, owner: OwnerId, conversation: ConversationId, last: int | None
) -> list[ChatTurn]:
    conversation_row(connection, owner, conversation)
    wanted = select(turns).where(turns.c.conversation == conversation)
    if last is not None:
        wanted = wanted.limit(max(last, 0))
    rows = connection.execute(wanted.order_by(turns.c.number.desc())).all()
    with _undamaged(conversation):
        return [_turn(row) for row in reversed(rows)]


def ask(
    connection: Connection,
    owner: OwnerId,
    conversation: ConversationId,
    question: str,
    holder: str | None,
) -> int:
    row = conversation_row(connection, owner, conversation, locked=True)
    number: int = row.turn_count
    moment = max(now(), row.updated_at)
    connection.execute(
        turns.insert(),
        {
            "conversation": conversation,
            "number": number,
            "question": kept_text(question, "a question"),
            "asked_at": moment,
            "holder": holder,
            **_answer_row(Answered("", "pending")),
        },
    )
    title = row.title or kept_text(title_of(question), "a title")
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation)
        .values(turn_count=number + 1, updated_at=moment, title=title)
    )
    return number


def answer(
    connection: Connection,
    owner: OwnerId,
    conversation: ConversationId,
    number: int,
    given: Answered,
) -> None:
    values = _answer_row(given)
    try:
        row = conversation_row(connection, owner, conversation, locked=True)
    except NotFoundError:
        return
    if not 0 <= number < row.turn_count:
        return
    connection.execute(
        update(turns)
        .where(turns.c.conversation == conversation, turns.c.number == number)
        .values(values)
    )
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation)
        .values(updated_at=max(now(), row.updated_at))
    )


def abandon(connection: Connection, holder: str | None) -> int:
    is_living = exists().where(
        leases.c.name == literal(PROCESS) + turns.c.holder,
        leases.c.until > clock(connection.dialect.name),
    )
    # As the index has it; one that no process is known to answer is nobody's.
    is_left = or_(turns.c.holder.is_(None), not_(is_living) & (turns.c.holder != (holder or "")))
    interrupted = update(turns).where(text(PENDING), is_left).values(status="interrupted")
    return connection.execute(interrupted).rowcount


def rename(
    connection: Connection, owner: OwnerId, conversation: ConversationId, title: str
) -> Conversation:
    row = conversation_row(connection, owner, conversation, locked=True)
    if not title and row.turn_count:
        first = connection.scalar(
            select(turns.c.question).where(
                turns.c.conversation == conversation, turns.c.number == 0
            )
        )
        with _undamaged(conversation):
            title = title_of(text_of(first or b""))
    connection.execute(
        update(conversations)
        .where(conversations.c.id == conversation)
        .values(title=kept_text(title, "a title"))
    )
    return conversation_in(conversation_row(connection, owner, conversation))


def remove(connection: Connection, owner: OwnerId, conversation: ConversationId) -> None:
    conversation_row(connection, owner, conversation, locked=True)
    connection.execute(delete(conversations).where(conversations.c.id == conversation))


def conversation_row(
    connection: Connection, owner: OwnerId, conversation: ConversationId, *, locked: bool = False
) -> Row[Any]:
    """With `locked`, kept from other writers until the end; SQLite keeps them off anyway."""
    wanted = select(conversations).where(
        conversations.c.id == conversation, conversations.c.owner == owner
    )
    if locked:
        wanted = wanted.with_for_update()
    can_be = is_storable(conversation) and is_storable(owner)
    found = connection.execute(wanted).first() if can_be else None
    if found is None:
        raise NotFoundError(f"there is no conversation {conversation!r}")
    return found


def conversation_in(row: Sequence[Any]) -> Conversation:
    conversation, owner, title, folder, turn_count, created, updated = row
    with _undamaged(conversation):
        return Conversation(
            conversation,
            owner,
            text_of(title),
            text_of(folder),
            turn_count,
            time_of(created),
            time_of(updated),
        )


def _answer_row(given: Answered) -> dict[str, Any]:
    return {
        "answer": kept_text(given.answer, "an answer"),
        "status": given.status,
        "cited": kept_json(given.cited, "a list of what was cited"),
        "record": kept_json(json_object(given.record, "a record"), "a record"),
    }


def _turn(row: Row[Any]) -> ChatTurn:
    cited = tuple((document, index) for document, index in json_of(row.cited))
    given = Answered(text_of(row.answer), row.status, cited, json_of(row.record))
    return ChatTurn(row.number, text_of(row.question), time_of(row.asked_at), given)


@contextmanager
def _undamaged(conversation: ConversationId) -> Iterator[None]:
    """A database does not notice when its disk gives back other bytes than it was given."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise IntegrityError(
            f"what is kept of conversation {conversation!r} is damaged; delete it"
        ) from error
