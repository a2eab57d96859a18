"""Under which of the known names a collection's chunks carry what we need."""

from collections.abc import Sequence

from unchunk.adapters.sources.fields import LANGCHAIN, LLAMA_INDEX, PAGES, Fields
from unchunk.adapters.sources.listing import file_of
from unchunk.adapters.sources.reading import Record, UnfitError, carried, understood
from unchunk.errors import InvalidInputError

# Whoever fits as many comes first: nodes may carry the names of others, too.
_KNOWN = (LLAMA_INDEX, PAGES, LANGCHAIN)


def recognised(records: Sequence[Record], where: str) -> Fields:
    """The names under which most of these have a document and a text.

    Raises `InvalidInputError` that lists the names they carry, if there are none.
    """
    if not records:
        return PAGES
    fitting = [(sum(_fits(record, fields) for record in records), fields) for fields in _KNOWN]
    most, fields = max(fitting, key=lambda it: it[0])
    if not most:
        raise InvalidInputError(
            f"the chunks of {where} have no text and document under names that are known. They"
            f" carry {carried(records)}: map them with --field text=body, --field document=..."
        )
    return fields


def _fits(record: Record, fields: Fields) -> bool:
    try:
        understood(record, fields, frozenset())
    except UnfitError:
        return False
    return file_of(record.payload, fields) is not None
