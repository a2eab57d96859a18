"""Two libraries, opened as far as a move needs them, and the settings of the one to be."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path

from unchunk.errors import InvalidInputError, InvalidSettingError
from unchunk.library.claiming import ClaimedBlobs
from unchunk.library.desk import Desk
from unchunk.library.moving import Move, Watch, move
from unchunk.library.places import Place
from unchunk.settings import FILE, Settings, made_of, save
from unchunk.wiring.apart import check_apart
from unchunk.wiring.libraries import CATALOG, claimed, library_id
from unchunk.wiring.stores import blobs_of, indexes_of, is_far, wanted_of

# Where things are kept: another place has its own.
_PLACES = ("catalog", "blobs", "index", "qdrant")
# What a library is built with: another place must have the same.
_KIND = ("embedder", "language", "chunk_")


def target_of(
    source: Settings, target: str, changes: Mapping[str, str], file: Path | None
) -> Settings:
    """The settings of what `target` names: the URL of a PostgreSQL database, or a folder.

    What the source is built with is taken over; where things are kept is not.
    """
    values = {
        field.name: getattr(source, field.name)
        for field in fields(source)
        if field.name != "home"
        and not field.name.startswith(_PLACES)
        and getattr(source, field.name) is not None
    }
    if "://" not in target:
        home = Path(target).expanduser().absolute()
        return made_of(home, values, file or home / FILE, changes)
    values["catalog"] = target
    made = made_of(source.home, values, file or source.home / "none", changes)
    if made.index.partition(":")[0] == "edge" or made.index == "chroma":
        raise InvalidSettingError(
            f"the index {made.index!r} is a folder on this machine, and a library on PostgreSQL is"
            " for many: say --set index=qdrant:URL or --set index=pgvector"
        )
    if not made.blobs:
        raise InvalidSettingError(
            "originals in a folder of this machine are not to be had on another: say"
            " --set blobs=s3:BUCKET or --set blobs=folder:PATH for one that all machines share"
        )
    return made


def needed_settings(settings: Settings) -> dict[str, str]:
    """What must be set for this library and is not so by itself; no secrets, no places."""
    plain = Settings(settings.home)
    return {
        field.name: str(getattr(settings, field.name))
        for field in fields(settings)
        if field.name.startswith(_KIND)
        and not field.name.endswith("_key")
        and getattr(settings, field.name) != getattr(plain, field.name)
    }


async def move_library(source: Settings, target: Settings, watch: Watch) -> Move:
    """Move all of it; a folder without settings gets those that it needs."""
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    if not source.catalog and not (source.home / CATALOG).exists():
        raise InvalidInputError(f"there is no library in {source.home}: check --home")
    check_apart(source, target)
    wanted = wanted_of(target)
    async with AsyncExitStack() as stack:
        for home in {source.home, target.home}:
            stack.enter_context(claimed(home))
        here = await stack.enter_async_context(_opened(source))
        there = await stack.enter_async_context(_opened(target))
        done = await move(here, there, wanted, Bm25Lexicon, watch)
    if not target.catalog and not (target.home / FILE).exists():
        for name, value in needed_settings(target).items():
            save(target.home, name, value)
    return done


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Place]:
    from unchunk.adapters.catalog import (
        SqlCatalog,
        SqlLeases,
        SqlRecords,
        SqlVectorCache,
        open_database,
    )

    database = await open_database(settings.catalog or settings.home / CATALOG)
    try:
        catalog = SqlCatalog(database, lists_purged=is_far(settings.index))
        seconds = settings.lease_seconds
        leases = SqlLeases(database, seconds) if database.is_shared else None
        library = await library_id(catalog)
        blobs = ClaimedBlobs(blobs_of(settings), library)
        place = Place(
            database.where,
            SqlRecords(database),
            catalog,
            SqlVectorCache(database),
            blobs,
            settings.index,
            partial(indexes_of, settings, library),
            Desk(leases, seconds=seconds),
        )
        try:
            await blobs.open()
            yield place
        finally:
            await place.close()
            await blobs.close()
    finally:
        await database.close()
