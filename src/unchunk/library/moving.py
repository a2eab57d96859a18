"""A library from one place to another: with everything, compared, and from where it stopped.

The source is only read. What somebody changes in the target, before or meanwhile, is left alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from unchunk.errors import IntegrityError, NotFoundError
from unchunk.library.carrying import Carried, carry
from unchunk.library.comparing import Task, tasks_of
from unchunk.library.places import Place, Way, prepare
from unchunk.library.recipes import Wanted
from unchunk.library.verifying import differences
from unchunk.library.withdrawing import purge, remove, take_back
from unchunk.ports import Lexicon
from unchunk.ports.moving import Kind, LeftBehindError, Unit

Watch = Callable[[str, int, int], None]
_KINDS: tuple[Kind, ...] = (
    *("note", "document", "conversation"),
    *("prompt", "key", "store", "response"),
)
# Documents whose points are flushed together, and chunks.
_DOCUMENTS, _CHUNKS = 32, 2_000


class Difference(NamedTuple):
    """Something that is not over there as it is here, and why."""

    kind: Kind
    name: str
    why: str


@dataclass(slots=True)
class Move:
    """What a move did. `bytes` are those of originals; `others` are all other things, by kind.

    What was `unchanged` had been moved and verified before. What `differs` could not be moved;
    what was `left` was changed or deleted over there since it was moved, and is as they made it.
    """

    source: str
    target: str
    documents: int = 0
    verified: int = 0
    moved: int = 0
    unchanged: int = 0
    removed: int = 0
    bytes: int = 0
    others: dict[str, int] = field(default_factory=dict)
    differs: list[Difference] = field(default_factory=list)
    left: list[Difference] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether everything is over there as it is here."""
        return not self.differs and not self.left


async def move(
    source: Place,
    target: Place,
    wanted: Wanted,
    lexicons: Callable[[str], Lexicon],
    watch: Watch,
) -> Move:
    """Make the target what the source is. Interrupted at any moment, it goes on when called again."""
    way = await prepare(source, target, wanted, lexicons)
    done = Move(source.shown, target.shown)
    for kind in _KINDS:
        tasks = await tasks_of(way, kind)
        # First what goes: another one may have its name by now.
        for key in [key for key, task in tasks.items() if task.what == "remove"]:
            await _remove(way, kind, key, tasks.pop(key), done)
        for key, task in tasks.items():
            if task.why:
                told = done.differs if task.what == "conflict" else done.left
                told.append(Difference(kind, await _name(way, kind, key), task.why))
        if kind == "document":
            await _documents(way, tasks, done, watch)
        else:
            await _others(way, kind, tasks, done)
    return done


async def _remove(way: Way, kind: Kind, key: str, task: Task, done: Move) -> None:
    name = await _name(way, kind, key)
    try:
        await remove(way, kind, key, task.there)
        done.removed += kind == "document"
    except LeftBehindError as error:
        done.differs.append(Difference(kind, name, str(error)))


async def _documents(way: Way, tasks: Mapping[str, Task], done: Move, watch: Watch) -> None:
    done.documents = sum(task.what != "keep" for task in tasks.values())
    group: list[Carried] = []
    for at, (key, task) in enumerate(tasks.items(), 1):
        if task.what == "nothing" or (task.what == "check" and await _is_there(way, key)):
            done.unchanged += 1
            done.verified += 1
        elif task.what in ("check", "bring"):
            try:
                carried = await carry(way, key, task.there)
                group += [carried] if carried else []
            except LeftBehindError as error:
                name = await _name(way, "document", key)
                done.differs.append(Difference("document", name, str(error)))
        if _is_full(group) or at == len(tasks):
            await _settle(way, group, done)
            group = []
        watch("", at, len(tasks))


async def _is_there(way: Way, key: str) -> bool:
    """Whether one that was brought, or half brought, is there as it should be."""
    unit = await way.source.records.read("document", key)
    if unit is None or await _differences(way, unit):
        return False
    await way.target.records.vouch("document", key)
    return True


def _is_full(group: list[Carried]) -> bool:
    chunks = sum(one.document.live.chunk_count for one in group if one.document.live)
    return len(group) >= _DOCUMENTS or chunks >= _CHUNKS


async def _settle(way: Way, group: list[Carried], done: Move) -> None:
    """Make what was carried live, and look whether it is there."""
    target = way.target
    for index in target.opened.values() if group else ():
        await index.flush()
    names = {was: passage.name for was, passage in way.passages.items()}
    for one in group:
        try:
            await target.records.write(one.unit, names, one.before)
        except LeftBehindError as error:
            await take_back(way, one.unit)
            done.differs.append(Difference("document", one.document.name, str(error)))
            continue
        problems = list(one.flaws) or await _differences(way, one.unit)
        done.moved += 1
        done.bytes += one.size
        done.differs += [Difference("document", one.document.name, why) for why in problems]
        if not problems:
            await target.records.vouch("document", one.unit.key)
            done.verified += 1
    await purge(way, {one.document.id for one in group})


async def _differences(way: Way, unit: Unit) -> list[str]:
    try:
        return await differences(way, unit)
    except (LeftBehindError, IntegrityError, NotFoundError) as error:
        return [str(error)]


async def _others(way: Way, kind: Kind, tasks: Mapping[str, Task], done: Move) -> None:
    target = way.target
    for key, task in tasks.items():
        done.others[kind] = done.others.get(kind, 0) + (task.what != "keep")
        if task.what not in ("bring", "check"):
            continue
        unit = await way.source.records.read(kind, key)
        if unit is None:
            continue
        try:
            # What is there already, and not noted as brought, is now.
            await target.records.write(unit, {}, task.there)
        except LeftBehindError as error:
            done.differs.append(Difference(kind, key, str(error)))
            continue
        there = await target.records.read(kind, key)
        if there is not None and there.mark == unit.mark:
            await target.records.vouch(kind, key)
        else:
            why = "not all of it is there: a file of it was not moved"
            done.differs.append(Difference(kind, key, why))


async def _name(way: Way, kind: Kind, key: str) -> str:
    if kind == "document":
        for place in (way.source, way.target):
            unit = await place.records.read(kind, key)
            if unit is not None:
                return str(unit.rows["documents"][0]["name"])
    return key
