"""PDF files that PDFium gives up on: a second parser looks for their pages.

Slower by far, and it fails on most of them too. What it finds: files with kilobytes of
something else before them, such as the headers of a message, and some that were cut or broken.
"""

import logging
import warnings

from pypdf import PdfReader

from unchunk.adapters.extract.composing import cleaned
from unchunk.adapters.extract.formats import READ_AGAIN
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError

_BETWEEN = "\n\n"


def read_again(source: Source) -> Extracted | None:
    """The text of what pages there are; None if there is none."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    texts, length = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pages = PdfReader(source.path).pages
            source.limits.check_pages(len(pages))
            for page in pages:
                texts.append(cleaned(page.extract_text()).strip())
                length += len(texts[-1])
                source.limits.check_text(length)
        except (MemoryError, ExtractionError):
            raise
        except Exception:  # noqa: BLE001 - a broken file makes it raise whatever comes
            return None
    if not any(texts):
        return None
    starts, end = [], 0
    for text in texts:
        starts.append(end)
        end += len(text) + len(_BETWEEN)
    return Extracted(_BETWEEN.join(texts), source.media_type, tuple(starts), notes=(READ_AGAIN,))
