"""Rich text: its plain text, without styles and so without headings."""

from striprtf.striprtf import rtf_to_text

from unchunk.adapters.extract.composing import Composition
from unchunk.adapters.extract.source import Source
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError


def read(source: Source) -> Extracted:
    out = Composition(source.limits)
    data = source.path.read_bytes()
    try:
        text: str = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]  # it has no types
    except (ValueError, LookupError, IndexError, TypeError) as error:
        raise ExtractionError("damaged", f"its rich text cannot be read: {error}") from error
    # Characters beyond the first 65,536 come as two halves.
    out.verbatim(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    return out.finish(source.media_type)
