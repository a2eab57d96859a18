"""A library: its home, claimed and opened, and all that it is made of."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING
from uuid import uuid4

from unchunk.beside.engine import EngineBeside
from unchunk.beside.running import find
from unchunk.chat.talking import Talk
from unchunk.chat.watching import WatchedChatModel
from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import OutputError
from unchunk.keyring import Keyring
from unchunk.library.calibration import NotedThresholds
from unchunk.library.claiming import ClaimedBlobs
from unchunk.library.desk import Desk
from unchunk.library.parts import Parts
from unchunk.library.sharing import Sharing
from unchunk.library.spaces import Spaces
from unchunk.library.watching import WatchedEmbedder
from unchunk.ports import Catalog, Embedder
from unchunk.settings import FILE, Settings
from unchunk.telemetry import Telemetry
from unchunk.wiring.manners import TEMPLATES, chat_manner_of, manner_of
from unchunk.wiring.models import MODELS
from unchunk.wiring.providers import (
    check_threshold,
    make_chat_model,
    make_embedder,
    with_threshold,
)
from unchunk.wiring.stores import (
    INCOMING,
    INDEX,
    blobs_of,
    extractor_of,
    indexes_of,
    is_far,
    pages_of,
    wanted_of,
)
from unchunk.wiring.traces import make_tracer

if TYPE_CHECKING:
    from unchunk.adapters.catalog import Database
    from unchunk.stores import StoreParts
    from unchunk.wiring.collections import ChatSource

# What a library keeps in its home; all else that is there is somebody else's.
CATALOG = "catalog.sqlite"
_BESIDE_CATALOG = (f"{CATALOG}-journal", f"{CATALOG}-shm", f"{CATALOG}-wal")
_PREFIX = "unchunk-"
_LOCK = "lock"
_QUESTIONS = "questions.txt"  # what was typed into a chat
_SERVER = "server.json"  # which server has it open
_OWN = (
    *(CATALOG, *_BESIDE_CATALOG, INCOMING, INDEX, _LOCK, MODELS, TEMPLATES, "uploads", FILE),
    *(_QUESTIONS, _SERVER),
)


async def open_engine(settings: Settings) -> Engine:
    """Open the library in the settings' home; a fresh one is made."""
    with ExitStack() as claim:
        manner = manner_of(settings)
        check_threshold(settings)
        incoming, is_alone = claim.enter_context(claimed(settings.home))
        parts, talk, keyring, stores = await _parts(settings, incoming)
        own = [settings.home / name for name in _OWN]
        closed = claim.pop_all().close
        engine = Engine(
            parts,
            settings.owner,
            own,
            closed,
            manner=manner,
            talk=talk,
            keyring=keyring,
            stores=stores,
            has_company=partial(has_company, incoming),
            cache_seconds=settings.search_cache_seconds,
        )
    try:
        await engine.start(is_alone=is_alone and engine.sharing.leases is None)
    except BaseException:
        await engine.close()
        raise
    return engine


async def open_beside(settings: Settings) -> EngineBeside:
    """The same; what needs the index is done by the server that has the library, while there is one."""
    return EngineBeside(
        await open_engine(settings),
        partial(find, settings.home),
        owner=settings.owner,
        max_bytes=settings.max_bytes,
        source=settings.answer_source,
    )


async def open_for_program(settings: Settings) -> Engine | EngineBeside:
    """The same where only one process can have the index; any number can have one on a server."""
    return await (open_engine if is_far(settings.index) else open_beside)(settings)


async def open_keyring(settings: Settings) -> Keyring:
    """Only the keys of the library in the settings' home, whoever else has it open."""
    from unchunk.adapters.catalog import SqlKeys, open_database

    database = await open_database(settings.catalog or settings.home / CATALOG)
    return Keyring(SqlKeys(database), database.close)


async def _parts(
    settings: Settings, incoming: Path
) -> "tuple[Parts, Talk, Keyring, Callable[[], StoreParts]]":
    from unchunk.adapters import catalog as sql
    from unchunk.adapters.catalog.later import later
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    originals = blobs_of(settings)
    lexicon = Bm25Lexicon(settings.language)
    extractor = extractor_of(settings)
    manner, model, telemetry = chat_manner_of(settings), make_chat_model(settings), Telemetry()
    telemetry.tracer = make_tracer(settings)
    elsewhere = _elsewhere(settings, telemetry) if settings.answer_source else None
    async with AsyncExitStack() as stack:
        stack.push_async_callback(originals.close)
        database = await sql.open_database(settings.catalog or settings.home / CATALOG)
        stack.push_async_callback(database.close)
        far = is_far(settings.index)
        catalog = sql.SqlCatalog(database, lists_purged=far)
        library = await library_id(catalog)
        blobs, indexes = ClaimedBlobs(originals, library), partial(indexes_of, settings, library)
        thresholds = NotedThresholds(catalog)

        async def make(spec: str, known: EmbedderIdentity | None) -> Embedder:
            embedder = WatchedEmbedder(await make_embedder(settings, spec, known), telemetry)
            return await with_threshold(settings, spec, embedder, thresholds)

        is_shared, seconds = database.is_shared, settings.lease_seconds
        leases = sql.SqlLeases(database, seconds) if is_shared else None
        bell = sql.SqlBell(database)
        desk = Desk(leases, bell, seconds)
        spaces = Spaces(catalog, indexes, make, wanted_of(settings), desk)
        for part in (spaces, bell, desk):
            stack.push_async_callback(part.close)
        sharing = Sharing(
            later(lambda: sql.SqlQueue(database, seconds, settings.job_attempts)),
            bell,
            leases,
            sql.SqlStreamLog(database) if is_shared else None,
            sql.SqlRates(database) if is_shared else None,
            later(lambda: sql.SqlPurged(database)) if far else None,
        )
        parts = Parts(
            catalog,
            later(lambda: sql.SqlVectorCache(database)),
            blobs,
            extractor,
            pages_of(settings),
            lexicon,
            spaces,
            telemetry,
            incoming,
            settings.max_bytes,
            sharing,
            desk,
        )
        await blobs.open()
        # Before anything is held: what nobody keeps up is soon another's.
        await desk.open()
        await spaces.open()
        stack.pop_all()
    conversations = sql.SqlConversations(database, leases.holder if leases else None)
    watched = None if model is None else WatchedChatModel(model, telemetry)
    prompts, keys = later(lambda: sql.SqlPrompts(database)), later(lambda: sql.SqlKeys(database))
    talk = Talk(conversations, prompts, manner, watched, elsewhere)
    stores = partial(_stores, database, desk)
    return parts, talk, Keyring(keys, database.close), stores


def _stores(database: "Database", desk: Desk) -> "StoreParts":
    from unchunk.adapters.catalog import (
        SqlBatches,
        SqlFileNotes,
        SqlKeptResponses,
        SqlMembers,
        SqlStores,
    )
    from unchunk.stores import StoreParts

    return StoreParts(
        SqlStores(database),
        SqlMembers(database),
        SqlBatches(database),
        SqlFileNotes(database),
        SqlKeptResponses(database),
        desk=desk,
    )


def _elsewhere(settings: Settings, telemetry: Telemetry) -> "ChatSource":
    from unchunk.adapters.sources.chunkenizer import check_url
    from unchunk.wiring.collections import ChatSource, check_place

    check_place(settings.answer_source)
    if url := settings.answering_chunkenizer:
        check_url(url)
    return ChatSource(settings, telemetry)


@contextmanager
def claimed(home: Path) -> Iterator[tuple[Path, bool]]:
    """A folder for files on their way in, and whether nobody else has this library open.

    All who have it open share a lock, which ends with their process. Only who is alone cleans
    up what others left.
    """
    with ExitStack() as stack:
        try:
            # All documents and the secret of sessions are in there.
            home.mkdir(0o700, parents=True, exist_ok=True)
            lock = os.open(home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            stack.callback(os.close, lock)
            incoming = home / INCOMING
            incoming.mkdir(exist_ok=True)
            if is_alone := _is_alone(lock):
                # Only what has our prefix: a home may be a folder that was in use before.
                for left in incoming.glob(f"{_PREFIX}*"):
                    shutil.rmtree(left, ignore_errors=True)
            # From here on nobody else is alone, so what is made now stays.
            fcntl.flock(lock, fcntl.LOCK_SH)
            mine = Path(mkdtemp(prefix=_PREFIX, dir=incoming))
            stack.callback(shutil.rmtree, mine, ignore_errors=True)
            stack.enter_context(_locked(mine))
        except OSError as error:
            raise OutputError(
                f"{home} cannot be used: {error.strerror}: choose another --home"
            ) from None
        yield mine, is_alone


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """While this lasts, others can tell that whoever made the folder is there."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def has_company(mine: Path) -> bool:
    """Whether others have this library open now; whoever comes later has worked on nothing yet.

    Unlike `claimed`, this can be asked again and again: the lock that all share would be lost by
    asking for it alone.
    """
    for other in mine.parent.glob(f"{_PREFIX}*"):
        try:
            handle = os.open(other, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue  # gone meanwhile
        try:
            if other != mine and not _is_alone(handle):
                return True
        finally:
            os.close(handle)
    return False


def _is_alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def library_id(catalog: Catalog) -> str:
    """What tells this library's indexes from those of others on the same server."""
    # Of processes that begin a library at the same time one names it.
    known = (await catalog.notes()).get("library")
    return known or await catalog.note_once("library", uuid4().hex[:12])
