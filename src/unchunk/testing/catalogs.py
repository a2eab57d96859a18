"""What every catalog must do."""

from unchunk.testing.catalogasking import AskingContract
from unchunk.testing.catalogcoming import ComingContract
from unchunk.testing.catalogfencing import FencingContract
from unchunk.testing.catalogsaying import SayingContract
from unchunk.testing.catalogwriting import WritingContract
from unchunk.testing.drafting import (
    added,
    drafted,
    live_of,
    on_a_catalog,
    rewritten,
    whole_of,
)

__all__ = [
    "CatalogContract",
    "added",
    "drafted",
    "live_of",
    "on_a_catalog",
    "rewritten",
    "whole_of",
]


class CatalogContract(
    ComingContract, WritingContract, FencingContract, AskingContract, SayingContract
):
    """Subclass it as `Test...`, and say how a catalog is opened."""
