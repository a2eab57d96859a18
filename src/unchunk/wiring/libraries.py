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
from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.errors import OutputError
from unchunk.library.parts import Parts
from unchunk.library.spaces import Spaces, Wanted
from unchunk.ports import Catalog, Embedder
from unchunk.settings import FILE, Settings
from unchunk.telemetry import Telemetry
from unchunk.wiring.collections import ChatSource, check_place
from unchunk.wiring.manners import TEMPLATES, chat_manner_of, manner_of
from unchunk.wiring.models import MODELS
from unchunk.wiring.providers import make_chat_model, make_embedder
from unchunk.wiring.stores import INDEX, extractor_of, indexes_of

# What a library keeps in its home; all else that is there is somebody else's.
_CATALOG = "catalog.sqlite"
_BESIDE_CATALOG = (f"{_CATALOG}-journal", f"{_CATALOG}-shm", f"{_CATALOG}-wal")
INCOMING = "incoming"
_PREFIX = "unchunk-"
_LOCK = "lock"
_QUESTIONS = "questions.txt"  # what was typed into a chat
_OWN = (
    *(_CATALOG, *_BESIDE_CATALOG, INCOMING, INDEX, _LOCK, MODELS, TEMPLATES, "uploads", FILE),
    _QUESTIONS,
)


async def open_engine(settings: Settings) -> Engine:
    """Open the library in the settings' home; a fresh one is made."""
    with ExitStack() as claim:
        manner = manner_of(settings)
        incoming, is_alone = claim.enter_context(_claimed(settings.home))
        parts, talk = await _parts(settings, incoming)
        own = [settings.home / name for name in _OWN]
        closed = claim.pop_all().close
        engine = Engine(parts, settings.owner, own, closed, manner=manner, talk=talk)
    if is_alone:
        await engine.start()
    return engine


async def _parts(settings: Settings, incoming: Path) -> tuple[Parts, Talk]:
    from unchunk.adapters.blobs.folder import FolderBlobs
    from unchunk.adapters.catalog import (
        SqlCatalog,
        SqlConversations,
        SqlPrompts,
        SqlVectorCache,
        open_database,
    )
    from unchunk.adapters.lexicon.bm25 import Bm25Lexicon

    blobs = FolderBlobs(settings.home)
    lexicon = Bm25Lexicon(settings.language)
    extractor = extractor_of(settings)
    manner, model = chat_manner_of(settings), make_chat_model(settings)
    if settings.chat_source:
        check_place(settings.chat_source)
    wanted = Wanted(settings.embedder, settings.chunking, settings.index, settings.language)
    database = await open_database(settings.home / _CATALOG)
    try:
        catalog = SqlCatalog(database)
        indexes = partial(indexes_of, settings, await _library_id(catalog))

        async def make(spec: str, known: EmbedderIdentity | None) -> Embedder:
            return await make_embedder(settings, spec, known)

        spaces = Spaces(catalog, indexes, make, wanted)
        cache = SqlVectorCache(database)
        parts = Parts(
            catalog,
            cache,
            blobs,
            extractor,
            lexicon,
            spaces,
            Telemetry(),
            incoming,
            settings.max_bytes,
        )
        await blobs.sweep()
        await spaces.open()
    except BaseException:
        await database.close()
        raise
    elsewhere = ChatSource(settings) if settings.chat_source else None
    talk = Talk(SqlConversations(database), SqlPrompts(database), manner, model, elsewhere)
    return parts, talk


@contextmanager
def _claimed(home: Path) -> Iterator[tuple[Path, bool]]:
    """A folder for files on their way in, and whether nobody else has this library open.

    All who have it open share a lock, which ends with their process. Only who is alone cleans
    up what others left.
    """
    with ExitStack() as stack:
        try:
            home.mkdir(parents=True, exist_ok=True)
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
