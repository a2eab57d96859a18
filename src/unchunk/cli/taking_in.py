"""Recovered files into the library, under names that it takes, with what their store said of them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TypeVar

from unchunk.errors import InvalidInputError
from unchunk.library.ingest import Event, Outcome
from unchunk.library.intake import Source, check_name
from unchunk.recovery.console import shown
from unchunk.recovery.request import Result
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring.rescue import library_name

T = TypeVar("T")
Step = Callable[[str, str, int, int], object]


def take_in(
    library: SynchronousEngine, results: Sequence[Result], folder: str, step: Step
) -> list[Outcome]:
    """Add all that came back. Two files of one name do not take each other's place."""
    back = [one for one in results if one.status == "recovered"]
    files = [
        Source(Path(one.path), name, attributes=_attributes(one))
        for one, name in zip(back, _names(back), strict=True)
    ]
    places = count(1)

    def told(event: Event) -> None:
        if event.stage == "done":
            step("Added", shown(event.name), next(places), len(files))

    # One call for all: an interrupt comes to this thread alone, and ends what this one waits for.
    outcomes: list[Outcome] = library.add_files(files, folder=folder, report=told)
    return outcomes


def _names(results: Sequence[Result]) -> list[str]:
    taken: set[str] = set()
    names = []
    for one in results:
        text = Path(one.path).read_bytes().decode("utf-8", "replace")
        ways = (library_name(called, text) for called in _ways(one))
        name = next(way for way in ways if way.casefold() not in taken)
        taken.add(name.casefold())
        names.append(name)
    return names


def _ways(one: Result) -> Iterator[str]:
    """What it may be called: as it was, then with its id, then with a number, too."""
    called = _fit(one.name) or one.plain
    yield called
    name = PurePosixPath(called)
    for number in count(1):
        more = f"~{number}" if number > 1 else ""
        yield _fit(f"{name.stem}~{one.id}{more}{name.suffix}") or f"{one.plain}{more}"


def _fit(name: str) -> str:
    """The name, if a document may be called so."""
    try:
        return check_name(name)
    except InvalidInputError:
        return ""


def _attributes(one: Result) -> dict[str, object]:
    """What its store said of it, and where it comes from."""
    said: dict[str, object] = {
        str(_clean(name)): [_clean(each) for each in value]
        if isinstance(value, tuple)
        else _clean(value)
        for name, value in one.attributes.items()
    }
    return said | {
        "recovered_from": _clean(one.store),
        "file_id": _clean(one.id),
        "verdict": one.verdict,
    }


def _clean(value: T) -> T | str:
    """Without halves of characters and zero bytes, which no catalog keeps."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
