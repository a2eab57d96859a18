"""Vector stores and files as OpenAI's clients know them, over the documents of a library."""

from unchunk.stores.files import File
from unchunk.stores.filters import Combination, Comparison, Filter
from unchunk.stores.finding import StoreHit
from unchunk.stores.memberships import Addition
from unchunk.stores.parts import Library, StoreParts
from unchunk.stores.register import NOT_GIVEN, NotGiven
from unchunk.stores.vector_stores import VectorStores

__all__ = [
    "NOT_GIVEN",
    "Addition",
    "Combination",
    "Comparison",
    "File",
    "Filter",
    "Library",
    "NotGiven",
    "StoreHit",
    "StoreParts",
    "VectorStores",
]
