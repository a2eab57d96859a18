"""A request of OpenAI's clients as a question of ours: what is asked, and where is looked."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from pydantic import JsonValue
from starlette.requests import Request

from unchunk.chat.events import Event
from unchunk.chat.request import ChatRequest, Mode
from unchunk.chat.turn import EXTRACTIVE
from unchunk.domain import OwnerId
from unchunk.ports import Message, Sampling, StoreId
from unchunk.retrieval.shelf import EVERYWHERE, Where
from unchunk.server.access import House, limited_of
from unchunk.server.openai.azure import deployment_of
from unchunk.server.openai.faults import about, refuse
from unchunk.server.openai.models import is_ours, no_chat_model, store_of
from unchunk.server.openai.usage import counted
from unchunk.stores.filters import Filter, parse


@dataclass(frozen=True, slots=True)
class Search:
    """Where an answer is looked for: in some stores, or in the whole library without any.

    `filters` are as a client sends them, `place` is where in its request. `limit` and `min_score`
    bound what is found, `full_documents` and `full_document_chars` how many documents come whole,
    and how long, and `max_parts` how many parts of longer ones the model reads.
    """

    stores: tuple[StoreId, ...] = ()
    filters: JsonValue = None
    place: str = "filters"
    folder: str | None = None
    mode: Mode = "auto"
    strict: bool | None = None
    limit: int | None = None
    min_score: float | None = None
    full_documents: int | None = None
    full_document_chars: int | None = None
    max_parts: int | None = None

    def parsed(self) -> Filter | None:
        """Raises for filters that make no sense."""
        with about(self.place):
            return None if self.filters is None else parse(self.filters)


class Body(Protocol):
    """What is sent to be answered."""

    @property
    def model(self) -> str: ...

    def check(self) -> None:
        """Raises for what is not done here."""
        ...


def begun(request: Request, house: House, body: Body) -> str:
    """Which model is named, in the path or else in the body; empty where none is.

    Raises for what cannot be asked, or not now.
    """
    house.streams.check(limited_of(request))
    body.check()
    return deployment_of(request) or body.model


def search_of(model: str) -> Search | None:
    """What a model's name says alone; None where it asks no documents."""
    if not is_ours(model):
        return None
    store = store_of(model)
    return Search() if store is None else Search((store,))


def answers_as(house: House, model: str) -> str:
    """Which model a reply names: as it was asked, or what stands in for a name that is not ours."""
    return model if is_ours(model) else house.engine.chat_model or EXTRACTIVE


async def question(
    house: House,
    owner: OwnerId,
    model: str,
    messages: Sequence[Message],
    *,
    sampling: Sampling,
    search: Search | None,
) -> ChatRequest:
    """Raises what cannot be asked: others' stores are not there, and neither is a missing model."""
    if search is None:
        if not house.engine.chat_model:
            raise no_chat_model(model)
        return ChatRequest(tuple(messages), rag_enabled=False, sampling=sampling)
    return ChatRequest(
        tuple(messages),
        rag_enabled=True,
        mode=search.mode,
        where=await _where(house, owner, search),
        strict=search.strict,
        sampling=sampling,
        limit=search.limit,
        min_score=search.min_score,
        full_documents=search.full_documents,
        full_document_chars=search.full_document_chars,
        max_parts=search.max_parts,
    )


def answering(
    house: House, owner: OwnerId, request: ChatRequest, request_id: str
) -> AsyncGenerator[Event, None]:
    """The events of an answer, with all that a reply needs.

    Documents are called as those called them who sent them.
    """
    names = partial(house.engine.stores.filenames, owner=owner)
    events = house.engine.chat(request, owner=owner, request_id=request_id, names=names)
    return counted(events, request.messages)


async def _where(house: House, owner: OwnerId, search: Search) -> Where:
    if not search.stores:
        if search.filters is not None:
            said = "filters are on the files of vector stores: say of which"
            raise refuse(said, param=search.place)
        return EVERYWHERE if search.folder is None else Where(folders=(search.folder,))
    documents = await house.engine.stores.documents(search.stores, search.parsed(), owner=owner)
    folders = None if search.folder is None else (search.folder,)
    return Where(documents=documents, folders=folders)
