"""Text as it is: every character of the file is kept, line ends and all.

Also what is text for programs (JSON, XML, CSV, source): it is not rendered, so nothing of it
is lost and its offsets are those of the file.
"""

import re

from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted, Heading
from unchunk.errors import ExtractionError
from unchunk.text.markdown import read_outline

_VISIBLE = re.compile(r"[^ \t\r\n\f\v\0]")


def read(source: Source) -> Extracted:
    text = source.text
    if not _VISIBLE.search(text):
        raise ExtractionError("empty", "it has no text")
    source.limits.check_text(len(text))
    headings: tuple[Heading, ...] = ()
    if source.media_type == "text/markdown":
        headings = tuple(
            Heading(heading.start, heading.level, heading.path[-1])
            for heading in read_outline(text).headings
        )
    return Extracted(
        text=text,
        media_type=source.media_type,
        headings=headings,
        title=next((heading.title for heading in headings if heading.level == 1), ""),
        notes=source.notes,
    )
