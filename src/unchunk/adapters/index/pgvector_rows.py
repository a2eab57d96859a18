"""What a table holds for a point: names, terms and vectors as PostgreSQL can hold them."""

from collections.abc import Iterable
from struct import Struct

import numpy as np

from unchunk.domain import Terms
from unchunk.ports import Vectors

_VECTOR = Struct(">hh")
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def escaped(name: str) -> str:
    """A text as the database can hold it: without a zero."""
    return name.replace("\\", "\\\\").replace("\0", "\\0")


def unescaped(name: str) -> str:
    if "\\" not in name:
        return name
    return "\\".join(part.replace("\\0", "\0") for part in name.split("\\\\"))


def signed(ids: Iterable[int]) -> list[int]:
    """Terms as the database numbers them: it knows no unsigned numbers."""
    return [term - 2**32 if term >= 2**31 else term for term in ids]


def word(term: int) -> str:
    """A term as a word that no parser takes for a number, or cuts."""
    return f"{term:x}".translate(_LETTERS)


def words(terms: Terms) -> str:
    """A text which a BM25 of `K1` and without regard to lengths weighs nearly as `terms` do."""
    return " ".join(
        " ".join([word(term)] * _times(weight))
        for term, weight in zip(terms.ids, terms.weights, strict=True)
    )


K1 = 10.0
_SCALE = 3.0  # a weight of 1 becomes a word four times
_MOST = 200  # no more are counted in one text


def _times(weight: float) -> int:
    """How often a word stands in a text for that weight: what BM25 does, backwards."""
    saturated = min(weight * _SCALE, K1)
    return min(max(round(K1 * saturated / (K1 + 1 - saturated)), 1), _MOST)


def vector_text(row: Vectors) -> str:
    return f"[{','.join(map(repr, row.tolist()))}]"


def vector_field(row: Vectors, *, half: bool) -> bytes:
    """Both vector types alike: how many numbers, two bytes of nothing, the numbers."""
    return _VECTOR.pack(row.size, 0) + row.astype(">f2" if half else ">f4").tobytes()


def vector_of(field: bytes, *, half: bool) -> Vectors:
    return np.frombuffer(field, ">f2" if half else ">f4", offset=_VECTOR.size).astype(np.float32)
