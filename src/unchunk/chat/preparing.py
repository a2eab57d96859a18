"""What an answer is written from: a request, checked, with its evidence and the prompt around it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from unchunk.chat.budget import Room, room
from unchunk.chat.events import Used
from unchunk.chat.gathering import Gathered, gather, log_question
from unchunk.chat.part_reading import PartPlan, planned
from unchunk.chat.parts import ChatParts
from unchunk.chat.prompt import assemble
from unchunk.chat.request import (
    INSTRUCTING,
    Asked,
    ChatRequest,
    has_more_than_words,
    untagged,
)
from unchunk.domain import OwnerId
from unchunk.errors import InvalidInputError
from unchunk.ports import Message, Sampling
from unchunk.retrieval.evidence import ReconstructedDocument


@dataclass(frozen=True, slots=True)
class Task:
    """What an answer is written from: messages for a model, if one is to be asked, and evidence.

    With `parts`, documents are read part by part first, and other messages come of that.
    """

    messages: Sequence[Message] | None
    found: Gathered | None = None
    space: Room | None = None
    parts: PartPlan | None = None

    @property
    def documents(self) -> tuple[ReconstructedDocument, ...]:
        return self.found.evidence.documents if self.found else ()


async def understood(parts: ChatParts, request: ChatRequest) -> ChatRequest:
    """The request with what the settings say where it does not.

    What cannot be asked is refused, before anything of it is kept.
    """
    request = replace(request, sampling=_sampling(parts.manner.sampling, request.sampling))
    parts.manner.template_of(request.template)
    last = request.messages[-1]
    if not request.question.strip() and not has_more_than_words(last):
        raise InvalidInputError("there is nothing to answer: the question is empty")
    if _asks_documents(parts, request):
        # Too long even without the conversation and without evidence.
        told = [one for one in request.messages[:-1] if one.get("role") in INSTRUCTING]
        await room(parts.model, [*told, last], request.sampling, None)
    return request


def _asks_documents(parts: ChatParts, request: ChatRequest) -> bool:
    wanted = request.rag_enabled
    rag = parts.manner.rag_enabled if wanted is None else wanted
    return rag and bool(request.question.strip())


async def prepare(parts: ChatParts, asked: Asked) -> Task:
    request, manner = asked.request, parts.manner
    if not _asks_documents(parts, request):
        log_question(parts, asked)
        return Task(request.messages)
    prompt = await _system_prompt(parts, request, asked.owner)
    space = await room(
        parts.model, request.messages, request.sampling, manner.amount.budget, prompt
    )
    found = await gather(parts, asked, space)
    strict = manner.strict if request.strict is None else request.strict
    if strict and not found.evidence.documents:
        return Task(None, found, space)
    assembled = partial(
        assemble,
        manner.template_of(request.template),
        untagged(space.messages, found.evidence.plan.sources),
        system_prompt=prompt,
    )
    plan, warning = await planned(parts, asked, found, space, assembled)
    if warning:
        found = replace(found, warnings=(*found.warnings, warning))
    return Task(assembled(found.context), found, space, plan)


def used(task: Task) -> Used:
    """What goes to the model beside the question."""
    if task.found is None or task.space is None:
        return Used(0, None, "characters")
    return Used(task.found.size, task.space.budget, task.space.unit)


async def _system_prompt(parts: ChatParts, request: ChatRequest, owner: OwnerId) -> str:
    """What is said to the model of every question, and of those about this folder."""
    general = request.system_prompt
    folders = request.where.folders or ()
    own = await parts.prompts.prompt(owner, folders[0]) if len(folders) == 1 else ""
    texts = (parts.manner.system_prompt if general is None else general, own)
    return "\n\n".join(one for one in texts if one.strip())


def _sampling(usual: Sampling, wanted: Sampling) -> Sampling:
    return Sampling(
        wanted.model or usual.model,
        usual.temperature if wanted.temperature is None else wanted.temperature,
        usual.max_tokens if wanted.max_tokens is None else wanted.max_tokens,
        wanted.stop or usual.stop,
    )
