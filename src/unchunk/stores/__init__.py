"""Vector stores and files as OpenAI's clients know them, over the documents of a library."""

from unchunk.stores.files import File
from unchunk.stores.finding import StoreHit
from unchunk.stores.memberships import Addition
from unchunk.stores.parts import StoreParts
from unchunk.stores.register import NOT_GIVEN
from unchunk.stores.vector_stores import VectorStores

__all__ = ["NOT_GIVEN", "Addition", "File", "StoreHit", "StoreParts", "VectorStores"]
