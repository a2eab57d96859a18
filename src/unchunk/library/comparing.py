"""What is to be done with each thing of a library that moves.

It is compared three ways: as it is here, as it is there, and as it was when a move last brought
it. What changed here is brought up to date there; what changed there is left alone.
"""

from typing import Literal, NamedTuple

from unchunk.library.places import Way
from unchunk.ports.moving import Brought, Kind

# `keep`: it is not here any more, and is there. `leave`: it is not there as it is here.
What = Literal["nothing", "check", "bring", "remove", "keep", "leave", "conflict"]


class Task(NamedTuple):
    """`there` is the mark of what is there now; `why` says why nothing is brought."""

    what: What
    there: bytes | None
    why: str = ""


async def tasks_of(way: Way, kind: Kind) -> dict[str, Task]:
    """By key: all that is here, and all that was brought before."""
    here, there = [await place.records.marks(kind) for place in (way.source, way.target)]
    brought = await way.target.records.brought(kind)
    tasks = {
        key: _task(here.get(key), there.get(key), brought.get(key))
        for key in sorted({**here, **brought})
    }
    if kind == "note":
        for key in [key for key in there if key in tasks and not _mark(brought.get(key))]:
            await _settle_own(way, tasks, key)
    return tasks


async def _settle_own(way: Way, tasks: dict[str, Task], key: str) -> None:
    """A note that no move brought was made by a server over there that was started before.

    It stays where anybody may have signed in by it already.
    """
    if tasks[key].what != "conflict":
        return
    kinds: tuple[Kind, ...] = ("document", "key")
    if any([await way.target.records.marks(kind) for kind in kinds]):
        del tasks[key]
    else:
        tasks[key] = Task("bring", tasks[key].there)


def _task(here: bytes | None, there: bytes | None, brought: Brought | None) -> Task:
    before = _mark(brought)
    if here is None:
        # Not there either: only the note of it goes, or what was half brought.
        is_ours = there in (None, before)
        return Task("remove", there) if is_ours else Task("keep", there, _KEPT)
    if here == there:
        is_known = brought is not None and brought.is_verified and before == here
        return Task("nothing" if is_known else "check", there)
    if there == before:
        return Task("bring", there)
    if here == before:
        return Task("leave", there, _CHANGED if there else _DELETED)
    return Task("conflict", there, _BOTH)


def _mark(brought: Brought | None) -> bytes | None:
    """None where it was not brought before, or only half."""
    return brought.mark or None if brought is not None else None


_CHANGED = "it was changed over there since it was moved, and is left so"
_DELETED = "it was deleted over there since it was moved, and is left so"
_KEPT = "it was deleted here and changed over there, and is left there"
_BOTH = "it was changed in both places since it was moved: what is over there was left as it is"
