"""How much fits: of the conversation, and of the evidence beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, NamedTuple

from unchunk.chat.context import BETWEEN, shown
from unchunk.chat.request import INSTRUCTING, words
from unchunk.errors import InvalidInputError
from unchunk.ports import ChatModel, Message, Sampling
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.marking import fence

# What an answer gets of a window where nothing is said about its length: a quarter, and no more
# than most answers need.
_ANSWER_SHARE, _ANSWER = 4, 2_000
# A conversation may take this part of what is left, so that evidence finds room, too.
_SAID_SHARE = 2
# What a prompt has around each message, and what a template says beside the evidence.
_PER_MESSAGE, _TEMPLATE = 8, 400


@dataclass(frozen=True, slots=True)
class Measure:
    """Counts in tokens of the model; a text of too many characters counts as too many tokens.

    A value, so that what was found for the same amount is found again.
    """

    model: ChatModel
    name: str
    tokens: int
    characters: int | None

    def __call__(self, text: str) -> int:
        count = self.model.count_tokens(text, self.name)
        if self.characters is None:
            return count
        return max(count, ceil(len(text) * self.tokens / max(self.characters, 1)))


class Room(NamedTuple):
    """What there is room for: `messages` are those that fit, the first `left_out` do not.

    `budget` is for evidence, in `unit`s; None means that there is no end.
    """

    messages: tuple[Message, ...]
    left_out: int
    budget: int | None
    unit: Literal["characters", "tokens"]
    window: int | None
    model: str = ""


async def room(
    model: ChatModel | None,
    messages: Sequence[Message],
    sampling: Sampling,
    characters: int | None,
    system_prompt: str = "",
) -> Room:
    """In tokens of the model's window where that is known, in characters otherwise.

    The oldest of the conversation leaves first, the question and what a system message says
    never. Raises `InvalidInputError` if these alone are too long.
    """
    window = await model.window(sampling.model) if model else None
    if model is None or window is None:
        return Room(tuple(messages), 0, characters, "characters", None)
    answer = sampling.max_tokens or min(window // _ANSWER_SHARE, _ANSWER)
    free = window - answer - model.count_tokens(system_prompt, sampling.model)
    sizes = [model.count_tokens(words(one), sampling.model) + _PER_MESSAGE for one in messages]
    fixed = [at for at, one in enumerate(messages) if one.get("role") in INSTRUCTING]
    fixed.append(len(messages) - 1)
    taken = sum(sizes[at] for at in fixed)
    if taken > free:
        raise InvalidInputError(
            f"the question is too long: with its answer it takes {taken + window - free} tokens,"
            f" and the model reads {window}"
        )
    kept = set(fixed)
    for at in reversed(range(len(messages) - 1)):
        if at in kept:
            continue
        if taken + sizes[at] > free // _SAID_SHARE:
            break
        taken += sizes[at]
        kept.add(at)
    # What is left begins with a question: an answer to nothing means nothing.
    for at in sorted(kept.difference(fixed)):
        if messages[at].get("role") == "user":
            break
        taken -= sizes[at]
        kept.discard(at)
    fitting = tuple(one for at, one in enumerate(messages) if at in kept)
    budget = max(free - taken - _TEMPLATE, 0)
    return Room(fitting, len(messages) - len(fitting), budget, "tokens", window, sampling.model)


def within(amount: Amount, room: Room, model: ChatModel | None) -> Amount:
    """An amount, in characters, as far as there is room for it."""
    if model is None or room.unit == "characters" or room.budget is None:
        return amount
    measure = Measure(model, room.model, max(room.budget, 1), amount.budget)
    return replace(amount, budget=room.budget, measure=measure)


def as_sent(amount: Amount) -> Amount:
    """The same amount, counted as it is sent: fenced, every document named and every chunk cited."""
    if amount.budget is None:
        return amount
    around = amount.measure(fence("")) - amount.measure(BETWEEN)
    return replace(amount, budget=amount.budget - around, written=_written)


def _written(document: ReconstructedDocument) -> str:
    return BETWEEN + shown(document, document.tag) if document.passages else ""
