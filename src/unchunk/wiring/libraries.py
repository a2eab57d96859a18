"""A library: its home, claimed and opened, and all that it is made of."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

from unchunk.chat.talking import Talk
from unchunk.chat.watching import WatchedChatModel
from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import OutputError
from unchunk.keyring import Keyring
from unchunk.library.parts import Parts
from unchunk.library.spaces import Spaces, Wanted
from unchunk.library.watching import WatchedEmbedder
from unchunk.ports import Catalog, Embedder
from unchunk.settings import FILE, Settings
from unchunk.stores import StoreParts
from unchunk.telemetry import Telemetry
from unchunk.wiring.collections import ChatSource, check_place
from unchunk.wiring.manners import TEMPLATES, chat_manner_of, manner_of
from unchunk.wiring.models import MODELS
from unchunk.wiring.providers import make_chat_model, make_embedder
from unchunk.wiring.stores import INDEX, extractor_of, indexes_of, pages_of
from unchunk.wiring.traces import make_tracer

# What a library keeps in its home; all else that is there is somebody else's.
_CATALOG = "catalog.sqlite"
_BESIDE_CATALOG = (f"{_CATALOG}-journal", f"{_CATALOG}-shm", f"{_CATALOG}-wal")
INCOMING = "incoming"
_PREFIX = "unchunk-"
_LOCK = "lock"
_QUESTIONS = "questions.txt"  # what was typed into a chat
_SERVER = "server.json"  # which server has it open
_OWN = (
    *(_CATALOG, *_BESIDE_CATALOG, INCOMING, INDEX, _LOCK, MODELS, TEMPLATES, "uploads", FILE),
    *(_QUESTIONS, _SERVER),
)


async def open_engine(settings: Settings) -> Engine:
    """Open the library in the settings' home; a fresh one is made."""
    with ExitStack() as claim:
        manner = manner_of(settings)
        incoming, is_alone = claim.enter_context(_claimed(settings.home))
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
        )
    if is_alone:
        await engine.start()
    return engine


async def open_keyring(settings: Settings) -> Keyring:
    """Only the keys of the library in the settings' home, whoever else has it open."""
    from unchunk.adapters.catalog import SqlKeys, open_database

    database = await open_database(settings.home / _CATALOG)
    return Keyring(SqlKeys(database), database.close)


async def _parts(settings: Settings, incoming: Path) -> tuple[Parts, Talk, Keyring, StoreParts]:
    from unchunk.adapters.blobs.folder import FolderBlobs
    from unchunk.adapters.catalog import (
        SqlBatches,
        SqlCatalog,
        SqlConversations,
        SqlFileNotes,
        SqlKeptResponses,
        SqlKeys,
        SqlMembers,
        SqlPrompts,
        SqlStores,
        SqlVectorCache,
        open_database,
    )
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    blobs = FolderBlobs(settings.home)
    lexicon = Bm25Lexicon(settings.language)
    extractor = extractor_of(settings)
    manner, model, telemetry = chat_manner_of(settings), make_chat_model(settings), Telemetry()
    telemetry.tracer = make_tracer(settings)
    if settings.chat_source:
        check_place(settings.chat_source)
    wanted = Wanted(settings.embedder, settings.chunking, settings.index, settings.language)
    database = await open_database(settings.home / _CATALOG)
    try:
        catalog = SqlCatalog(database)
        indexes = partial(indexes_of, settings, await _library_id(catalog))

        async def make(spec: str, known: EmbedderIdentity | None) -> Embedder:
            return WatchedEmbedder(await make_embedder(settings, spec, known), telemetry)

        spaces = Spaces(catalog, indexes, make, wanted)
        cache = SqlVectorCache(database)
        parts = Parts(
            catalog,
            cache,
            blobs,
            extractor,
            pages_of(settings),
            lexicon,
            spaces,
            telemetry,
            incoming,
            settings.max_bytes,
        )
        await blobs.sweep()
        await spaces.open()
    except BaseException:
        await database.close()
        raise
    elsewhere = ChatSource(settings) if settings.chat_source else None
    watched = None if model is None else WatchedChatModel(model, telemetry)
    talk = Talk(SqlConversations(database), SqlPrompts(database), manner, watched, elsewhere)
    stores = StoreParts(
        SqlStores(database),
        SqlMembers(database),
        SqlBatches(database),
        SqlFileNotes(database),
        SqlKeptResponses(database),
    )
    return parts, talk, Keyring(SqlKeys(database), database.close), stores


@contextmanager
def _claimed(home: Path) -> Iterator[tuple[Path, bool]]:
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
        except OSError as error:
            raise OutputError(
                f"{home} cannot be used: {error.strerror}: choose another --home"
            ) from None
        yield mine, is_alone


def _is_alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _library_id(catalog: Catalog) -> str:
    """What tells this library's indexes from those of others on the same server."""
    known = (await catalog.notes()).get("library")
    if known is None:
        known = uuid4().hex[:12]
        await catalog.note("library", known)
    return known
