"""What the steps of a small library's life ask of its engine, its catalog and its embedder."""

from pathlib import Path

from gates import in_time
from homes import Home
from unchunk.engine import Engine
from work.counting import Counting, counting
from work.pure import TEXT

_QUESTION = "What does the keeper of the lighthouse remember of the harbour?"
_SETTINGS: dict[str, str | float] = {
    "chunk_size": 1000,
    "chunk_overlap": 200,
    "chunk_boundaries": "boundary",
}


def asked(folder: Path) -> dict[str, dict[str, int]]:
    """By the name of each step, how often what was asked."""
    home = Home(folder)
    for number in range(6):
        home.file(f"{number}.txt", _document(number))

    async def work(engine: Engine) -> None:
        await engine.add(home.files)
        counts.take()
        found["a new document"] = await _adding(engine, counts, home.file("new.txt", _document(7)))
        found["the same file again"] = await _adding(engine, counts, home.files / "new.txt")
        changed = home.file("new.txt", _document(8))
        found["a document replaced"] = await _adding(engine, counts, changed)
        await engine.search_with_context(_QUESTION)
        found["a question"] = counts.take()
        await engine.search_with_context(_QUESTION)
        found["the same question again"] = counts.take()
        await engine.retrieve(f"{_QUESTION} Tell me more.")
        found["a question of a chat"] = counts.take()
        await engine.search(f"{_QUESTION} Say it again.")
        found["a search for single chunks"] = counts.take()
        await engine.delete("new.txt")
        found["a document deleted"] = counts.take()

    found: dict[str, dict[str, int]] = {}
    with counting() as counts:
        home.run(in_time(work), **_SETTINGS)
    return found


async def _adding(engine: Engine, counts: Counting, path: Path) -> dict[str, int]:
    await engine.add(path)
    return counts.take()


def _document(number: int) -> str:
    """Some ten chunks, no two documents alike."""
    return TEXT[number * 1500 : number * 1500 + 8000]
