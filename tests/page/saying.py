"""Answers for the scripted model that cite what they were sent, as a real one would."""

import re
from typing import NamedTuple

from adapters.llm.scripted import Behaviour, Exchange, answer

_CITATION = re.compile(r"\[\w+:\d+\]")


class Cite(NamedTuple):
    """The citation that stands behind these words in the evidence."""

    words: str


def citing(*said: str | Cite) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        prompt = exchange.request.body["messages"][-1]["content"]
        tokens = [one if isinstance(one, str) else _behind(one.words, prompt) for one in said]
        await answer(*tokens)(exchange)

    return behave


def _behind(words: str, prompt: str) -> str:
    found = _CITATION.search(prompt, max(prompt.find(words), 0))
    return found.group() if found and words in prompt else f"(nothing was sent of {words!r})"
