"""OpenAI's byte-pair encodings, out of an installed package: nothing is ever fetched.

The vocabulary is checked against the checksum that OpenAI published before it is used.
Knows nothing of chunks.
"""

import base64
import gzip
import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module, resources
from itertools import accumulate, islice
from typing import TypeVar

from unchunk.domain import EncodingName
from unchunk.errors import IntegrityError, InvalidTextError

T = TypeVar("T")

PUBLISHED_SHA256: dict[EncodingName, str] = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}

# Neither encoding has a token that spans an ASCII letter or digit and the blank behind it,
# so what stands left of such a place does not change how what stands right of it is encoded.
SAFE_CUT = re.compile(r"[A-Za-z0-9](?=[ \n\t])")
_BLOCK = 1 << 20
_CONTINUATION = bytes(range(0x80, 0xC0))


class Encoding:
    """One encoding; get it from `get_encoding`, which keeps it. Linear in its input."""

    def __init__(self, name: EncodingName) -> None:
        self.name = name
        self.vocabulary = _read_vocabulary(name)
        # The package's public class refuses a million characters; its core does not.
        self._core = import_module("bpe_openai._bindings").tokenizer_for_encoding(name)
        self._starts = bytes(len(token.translate(None, _CONTINUATION)) for token in self.vocabulary)
        self._inside = bytes(token[:1] in _CONTINUATION for token in self.vocabulary)

    def encode(self, text: str) -> list[int]:
        """The token ids of `text`; special tokens are ordinary text here."""
        ids: list[int] = []
        for block in safe_blocks(text):
            ids += self._encode(block)
        return ids

    def count(self, text: str) -> int:
        """As many as `encode` gives, without making them: that takes a fifth less."""
        return sum(_told(self._core.count, block) for block in safe_blocks(text))

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        known = range(len(self.vocabulary))
        if ids and not (min(ids) in known and max(ids) in known):
            unknown = min(ids) if min(ids) not in known else max(ids)
            raise InvalidTextError(
                f"{unknown} is not a token of {self.name}, which has {len(known)}"
            )
        return b"".join(map(self.vocabulary.__getitem__, ids))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, with U+FFFD where they begin or end inside a character."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def bounds(self, text: str) -> "array[int]":
        """Where each token begins, as an offset in `text`, and the end of the text last.

        A token that begins inside a character is given the offset behind that character.
        """
        bounds = array("Q", [0])
        for block in safe_blocks(text):
            self._extend(bounds, self._encode(block))
        return bounds

    def lengths(self, ids: Iterable[int]) -> Iterator[int]:
        """How many characters begin in each token."""
        return map(self._starts.__getitem__, ids)

    def depth(self, ids: Sequence[int], at: int) -> int:
        """How many bytes of a cut character the tokens from `at` on begin with."""
        rest = self.decode_bytes(ids[at : at + 3])
        return len(rest) - len(rest.lstrip(_CONTINUATION))

    def windows(self, text: str, size: int, overlap: int) -> Iterator[str]:
        """`text` cut as OpenAI cuts it: `size` tokens, each window `size - overlap` further.

        A character that is cut is U+FFFD on both sides, as decoding gives it. Windows go on
        while tokens are left to begin with, so the last ones may lie inside the one before.
        """
        ids: list[int] = []
        bounds, begin = [0], 0
        for block in safe_blocks(text):
            more = self._encode(block)
            ids += more
            self._extend(bounds, more)
            while begin + size < len(ids):
                yield self._window(text, ids, bounds, begin, begin + size)
                begin += size - overlap
            del ids[:begin], bounds[:begin]
            begin = 0
        while begin < len(ids):
            yield self._window(text, ids, bounds, begin, min(begin + size, len(ids)))
            begin += size - overlap

    def _window(
        self, text: str, ids: Sequence[int], bounds: Sequence[int], begin: int, end: int
    ) -> str:
        if self._inside[ids[begin]] or (end < len(ids) and self._inside[ids[end]]):
            return self.decode(ids[begin:end])
        return text[bounds[begin] : bounds[end]]

    def _extend(self, bounds: "array[int] | list[int]", ids: Sequence[int]) -> None:
        bounds.extend(islice(accumulate(self.lengths(ids), initial=bounds[-1]), 1, None))

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = _told(self._core.encode, text)
        return ids


def _told(core: Callable[[str], T], text: str) -> T:
    try:
        return core(text)
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"the text has a lone surrogate ({text[error.start]!r}) and cannot be encoded:"
            " replace it, or count in words or characters"
        ) from None


@cache
def _load(name: EncodingName) -> Encoding:
    return Encoding(name)


def get_encoding(name: EncodingName = "cl100k_base") -> Encoding:
    """The encoding, read once per process: that takes a fifth of a second."""
    return _load(name)


def safe_blocks(text: str, size: int = _BLOCK) -> Iterator[str]:
    """`text` in parts that encode one by one as they do together, so that memory stays small."""
    start = 0
    while len(text) - start > size:
        cut = SAFE_CUT.search(text, start + size - 1)
        if cut is None:
            break
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:] if start else text


def _read_vocabulary(name: EncodingName) -> list[bytes]:
    packed = resources.files("bpe_openai.data").joinpath(f"{name}.tiktoken.gz").read_bytes()
    published = gzip.decompress(packed)
    if hashlib.sha256(published).hexdigest() != PUBLISHED_SHA256[name]:
        raise IntegrityError(
            f"the vocabulary of {name} in the package bpe-openai is not the published one:"
            " reinstall it with: pip install --force-reinstall bpe-openai"
        )
    lines = published.split()
    ranked = dict(zip(map(int, lines[1::2]), map(base64.b64decode, lines[0::2]), strict=True))
    return [ranked.get(rank, b"") for rank in range(max(ranked) + 1)]
