"""A few documents to try unchunk on, in the library of whoever starts it for the first time.

They come once. A note in the catalog says what became of them, so that neither a restart nor
an emptied library brings them back.
"""

from pathlib import Path

from unchunk.domain import OwnerId
from unchunk.engine import Engine
from unchunk.errors import NotFoundError
from unchunk.server.jobs import Jobs
from unchunk.telemetry import log

FOLDER = "Sample"
FILES = Path(__file__).parent / "sample"
_NOTE = "sample"
_BEGUN, _ADDED, _REMOVED, _UNWANTED = "begun", "added", "removed", "unwanted"


async def bring(engine: Engine, jobs: Jobs, owner: OwnerId) -> None:
    """Let the sample come in, if this library is new; or the rest of it, if that was interrupted."""
    state = await engine.noted(_NOTE)
    if not state:
        counts = await engine.counts()
        is_new = not (counts.documents or counts.pending or counts.failed)
        state = _BEGUN if is_new else _UNWANTED
        await engine.note(_NOTE, state)
    for path in sorted(FILES.iterdir()):
        # It may be removed while it comes in.
        if await engine.noted(_NOTE) != _BEGUN:
            return
        outcome = await engine.keep_file(path, path.name, folder=FOLDER, owner=owner)
        if not outcome.document or outcome.result != "waiting":
            continue
        try:
            document = await engine.exactly(outcome.document, owner=owner)
            if await engine.noted(_NOTE) != _BEGUN:
                # Whoever removed it did not know of this one.
                await engine.delete(document.id, owner=owner)
                return
        except NotFoundError:
            continue
        await jobs.begin("upload", document)
    if await engine.noted(_NOTE) == _BEGUN:
        await engine.note(_NOTE, _ADDED)
        log("a new library: the sample comes in")


async def is_there(engine: Engine) -> bool:
    return await engine.noted(_NOTE) in (_BEGUN, _ADDED)


async def removed(engine: Engine) -> None:
    """It is not to come again."""
    await engine.note(_NOTE, _REMOVED)
