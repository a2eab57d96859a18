"""The `Pages` of the product: PDFium draws in processes that a file may ruin."""

import json
import math
from pathlib import Path

from unchunk.adapters.extract.crew import Crew
from unchunk.adapters.extract.formats import PDF, READ_AGAIN
from unchunk.adapters.extract.frames import BrokenFrameError, Header, packed, refused
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.adapters.extract.png import SIGNATURE
from unchunk.domain import Mark, Version
from unchunk.errors import ExtractionError

# A page is looked at by somebody who waits: what takes longer is not worth it.
_SECONDS, _MEMORY = 20.0, 1024 * MiB
# A picture has four times as many bytes at most.
_LARGEST = 8 * MiB
_LONGEST_PAGE = 2_000_000


class IsolatedPages:
    """Draws up to `workers` pages at once; more wait. Not bound to an event loop."""

    def __init__(self, max_bytes: int, workers: int = 2) -> None:
        limits = Limits(max_bytes=max_bytes, max_text=_LARGEST, seconds=_SECONDS, memory=_MEMORY)
        self._crew = Crew(limits, workers, "draw")

    def can_draw(self, version: Version) -> bool:
        """Not what only the second parser could read: PDFium does not know where its pages are."""
        is_pdf = version.media_type == PDF.media_type and version.page_count > 0
        return is_pdf and READ_AGAIN not in version.notes

    async def draw(self, path: Path, page: int, width: int) -> bytes:
        asked = packed({"task": "draw"}, _arguments(path, page, width))
        try:
            return await self._crew.ask(path, asked, _picture)
        except ExtractionError as error:
            raise _about_a_page(error, page) from error

    async def marks(self, path: Path, page: int, text: str, start: int, end: int) -> list[Mark]:
        if not text[start:end].strip() or len(text) > _LONGEST_PAGE:
            return []
        asked = packed({"task": "locate"}, _arguments(path, page, text, start, end))
        try:
            return await self._crew.ask(path, asked, _marks)
        except ExtractionError as error:
            raise _about_a_page(error, page) from error

    async def close(self) -> None:
        await self._crew.close()

    def pids(self) -> list[int]:
        """The processes that wait for a page, for whoever watches them."""
        return self._crew.pids()


def _arguments(path: Path, *others: object) -> bytes:
    return json.dumps([str(path.absolute()), *others]).encode("ascii")


def _about_a_page(error: ExtractionError, page: int) -> ExtractionError:
    """Files have other limits, which can be raised; these cannot."""
    if error.code == "too-slow":
        return ExtractionError("too-slow", f"page {page} was not drawn within {_SECONDS:g} seconds")
    if error.code == "too-much-memory":
        return ExtractionError("too-much-memory", f"page {page} needs too much memory")
    return error


def _picture(header: Header, body: bytes) -> bytes:
    refused(header)
    if not body.startswith(SIGNATURE):
        raise BrokenFrameError("a picture is none")
    return body


def _marks(header: Header, body: bytes) -> list[Mark]:
    refused(header)
    try:
        found = [Mark(*map(float, one)) for one in json.loads(body)]
    except (TypeError, ValueError, RecursionError) as error:
        raise BrokenFrameError("a mark is broken") from error
    if not all(math.isfinite(part) and 0 <= part <= 1 for one in found for part in one):
        raise BrokenFrameError("a mark is not on the page")
    return found
