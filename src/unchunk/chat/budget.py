"""How much fits: of the conversation, and of the evidence beside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, NamedTuple

from unchunk.chat.request import INSTRUCTING, words
from unchunk.errors import InvalidInputError
from unchunk.ports import ChatModel, Message, Sampling
from unchunk.retrieval.amount import Amount

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


@dataclass(frozen=True, slots=True)
class AsSent:
    """A text, with about what stands around it when it is sent: its citations and its source."""

    measure: Callable[[str], int]
    share: float
    each: int

    def __call__(self, text: str) -> int:
        return ceil(self.measure(text) * (1 + self.share)) + self.each


def as_sent(amount: Amount, room: Room) -> Amount:
    """The same amount, counted so that what is found fits with what is put around it.

    Measured with ids of ours and chunks of the usual size: a tenth more characters, a fifth more
    tokens, and a line for each document.
    """
    share, each = (0.2, 60) if room.unit == "tokens" else (0.1, 160)
    return replace(amount, measure=AsSent(amount.measure, share, each))
