"""A model that reads long documents part by part, as a script: notes on each part, then an answer."""

import re
from collections.abc import Callable

from adapters.llm.scripted import Behaviour, Exchange, Request, answer

_PART = re.compile(r"You read part (\d+) of (\d+)\.")
_CITATION = re.compile(r"\[[0-9a-v]{16}:\d+\]")


def book(chapters: int = 12, name: str = "Otter") -> str:
    """A document that has something of its own in each chapter, a bit longer than 300 characters."""
    filling = (
        "The log of that week says little else, for the weather was poor and the ink froze. " * 3
    )
    return "".join(
        f"## Chapter {number}\n\nThe crew of the {name} found crate number {number * 111}. {filling}\n\n"
        for number in range(1, chapters + 1)
    )


def part_of(request: Request) -> tuple[int, int] | None:
    """Which part a request has a model read, and of how many; None if it reads none."""
    found = _PART.search(prompt_of(request))
    return (int(found[1]), int(found[2])) if found else None


def prompt_of(request: Request) -> str:
    return str(request.body["messages"][-1]["content"])


def citations_in(text: str) -> list[str]:
    return _CITATION.findall(text)


def reader(
    note: Callable[[int, str], str] | None = None,
    said: str | Behaviour = "",
    **parts: Behaviour,
) -> Behaviour:
    """Notes on each part, which cite its first chunk, and an answer with the notes' citations.

    `note` makes others of a part's number and text; `said` is another answer; `part3` is what is
    done instead where that part is to be read.
    """

    async def behave(exchange: Exchange) -> None:
        prompt = prompt_of(exchange.request)
        part = part_of(exchange.request)
        if part is None:
            cited = " ".join(citations_in(prompt))
            usual = (
                answer(said or f"All crates were found. {cited}") if isinstance(said, str) else said
            )
            await usual(exchange)
            return
        number, _ = part
        if own := parts.get(f"part{number}"):
            await own(exchange)
            return
        first = citations_in(prompt)[0]
        written = note(number, prompt) if note else f"Notes number {number} {first}"
        await answer(written)(exchange)

    return behave
