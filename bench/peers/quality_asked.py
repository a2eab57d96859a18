"""What the quality measure asks of a peer, and how the peer answers: JSON, there and back.

A peer's module is a program, `REQUEST ANSWER`, and runs in the peer's own interpreter. What is
nearest in meaning comes with the request, found by an exact scan: all stores would find it, some
a little less. What a peer adds to that, its search by words, fusing, merging or widening, is done
by its own code.

Knows nothing of any peer and needs the standard library alone.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NEAREST, DEEP = 200, 50
"""How many are known to be near, and how many of them each part of a search takes."""
FEW = 5
"""How many found make a context where there is no budget."""
_MOST = 32_000  # characters after which a context need not grow: more than ours can have here
_BACK = 4000  # characters by which what overlaps can go back

# A document, and from where to where in it.
Span = tuple[str, int, int]
# Numbers of items, the nearest first, with their cosines.
Near = list[tuple[int, float]]
# What is shown, and what is shown with one more found, and so on.
Growing = list[list[Span]]


@dataclass(frozen=True, slots=True)
class Asked:
    """`chunks` are those of the library, `near` what is nearest among them for each question.

    `own` is the same for what a way has cut by itself. `vectors` and `asked` are NumPy files, of
    the chunks and of the questions.
    """

    texts: Mapping[str, str]
    chunks: Sequence[Span]
    said: Sequence[str]
    questions: Sequence[str]
    near: Sequence[Near]
    own: Mapping[str, Sequence[Near]]
    vectors: str
    asked: str


@dataclass(frozen=True, slots=True)
class Own:
    """A way that cuts the texts by itself, for what is embedded; it is then given what is near."""

    cut: Callable[[Mapping[str, str]], list[Span]]
    show: Callable[[Asked, Sequence[Near]], list[Growing]]


@dataclass(frozen=True, slots=True)
class Ways:
    """`ranked` put the library's chunks in order, `shown` make contexts of them; `own` cut too."""

    ranked: Mapping[str, Callable[[Asked], list[list[int]]]]
    shown: Mapping[str, Callable[[Asked], list[Growing]]]
    own: Mapping[str, Own]


def play(ways: Ways) -> None:
    request, answer = (Path(one) for one in sys.argv[1:])
    wanted: dict[str, Any] = json.loads(request.read_text("utf-8"))
    done: dict[str, Any]
    if wanted["do"] == "cut":
        done = {name: way.cut(wanted["texts"]) for name, way in ways.own.items()}
    else:
        asked = Asked(**wanted["asked"])
        done = {"ranked": {name: way(asked) for name, way in ways.ranked.items()}}
        if wanted["do"] == "show":
            shown = {name: way(asked) for name, way in ways.shown.items()}
            own = {name: ways.own[name].show(asked, near) for name, near in asked.own.items()}
            done["shown"] = shown | own
    answer.write_text(json.dumps(done), "utf-8")


def grown(spans: Sequence[Span]) -> Growing:
    """One after the other, until it is enough."""
    return growing(lambda number: spans[:number], len(spans))


def growing(context: Callable[[int], Sequence[Span]], most: int) -> Growing:
    """The contexts of one found, of two, and so on, until it is enough."""
    made: Growing = []
    for number in range(1, most + 1):
        made.append(list(context(number)))
        if number >= FEW and sum(end - start for _, start, end in made[-1]) >= _MOST:
            break
    return made


def located(name: str, text: str, pieces: Sequence[str]) -> list[Span]:
    """Where the pieces stand, each after the last one's beginning, or a little before it."""
    found: list[Span] = []
    at = 0
    for piece in pieces:
        tries = (
            (one, text.find(one, where))
            for where in (at, max(at - _BACK, 0))
            for one in (piece, piece.strip())
        )
        said, start = next(((one, where) for one, where in tries if where >= 0), (piece, -1))
        if start < 0:
            raise SystemExit(f"a piece is not in its text: {piece[:80]!r}")
        found.append((name, start, start + len(said)))
        at = start + 1
    return found
