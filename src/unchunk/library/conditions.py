"""Whether what a library needs does what it is for, without paying anybody for the answer."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from unchunk.errors import UnchunkError
from unchunk.library.parts import Parts
from unchunk.library.watching import EMBEDDER
from unchunk.ports import Degradable
from unchunk.telemetry import Condition

OK = Condition(ok=True)
# What is asked of a part to see whether it answers, and how long it has for that.
NOBODY = "nobody"
_PATIENCE = 5.0
# Embedders that cost nothing but a moment of this machine.
_OWN = ("local", "hashing")


async def conditions(parts: Parts) -> dict[str, Condition]:
    """Of `catalog` and `index`, which are asked, and of `embedder`.

    An embedder of somebody else's is judged by its last call. One of this machine is asked as
    long as it has not answered, which loads it.
    """
    # What is wrong with the catalog is told below; an embedder that is new may take long to load.
    with suppress(UnchunkError, TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await parts.spaces.refresh()
    indexes = [one.index.census(NOBODY) for one in parts.spaces.all]
    catalog, embedder, *found = await asyncio.gather(
        _told(parts.catalog.revision()), _embedder(parts), *map(_told, indexes)
    )
    index = next((one for one in found if not one.ok), None) or await _degraded(parts)
    return {"catalog": catalog, "index": index, "embedder": embedder}


async def _degraded(parts: Parts) -> Condition:
    """Of indexes that answer: what of them is lost, if they can tell."""
    for space in parts.spaces.all:
        if isinstance(space.index, Degradable):
            try:
                async with asyncio.timeout(_PATIENCE):
                    told = await space.index.degraded()
            except (TimeoutError, UnchunkError) as error:
                told = str(error) or "how the index is cannot be learned"
            if told:
                return Condition(ok=True, reason=f"degraded: {told}")
    return OK


async def _embedder(parts: Parts) -> Condition:
    try:
        embedder = parts.spaces.embedder
    except UnchunkError as error:
        return Condition(ok=False, reason=str(error))
    known = parts.telemetry.calls.get(EMBEDDER)
    if parts.spaces.active.spec.partition(":")[0] in _OWN:
        return known if known and known.ok else await _told(embedder.embed(["ready"], "query"))
    return known or Condition(ok=True, reason="not asked yet")


async def _told(answer: Awaitable[object]) -> Condition:
    try:
        async with asyncio.timeout(_PATIENCE):
            await answer
    except TimeoutError:
        return Condition(ok=False, reason=f"no answer within {_PATIENCE:.0f} s")
    except UnchunkError as error:
        return Condition(ok=False, reason=str(error))
    return OK
