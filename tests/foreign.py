"""Other people's chunkers, each as `text -> chunks`, with what they leave of a text."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import tiktoken

from unchunk.domain import ChunkingStrategy
from unchunk.text.tokens import get_encoding


def keep(text: str) -> str:
    return text


def collapse(text: str) -> str:
    return " ".join(text.split())


def strip(text: str) -> str:
    return text.strip()


@dataclass(frozen=True)
class Chunker:
    name: str
    cut: Callable[[str], list[str]]
    leaves: Callable[[str], str] = keep
    strategy: ChunkingStrategy | None = None


@lru_cache(maxsize=1)
def _tiktoken() -> tiktoken.Encoding:
    """The official encoder over the same vocabulary, so that the chunks are not made by us."""
    ours = get_encoding("cl100k_base")
    pattern = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    )
    ranks = {token: rank for rank, token in enumerate(ours.vocabulary) if token}
    return tiktoken.Encoding(
        "cl100k_base", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )


def tokens(
    size: int,
    overlap: int,
    edge: Callable[[str], str] = keep,
    *,
    to_the_last: bool = False,
) -> Chunker:
    """OpenAI's window. `to_the_last` goes on until no token is left to begin with."""

    def cut(text: str) -> list[str]:
        ids = _tiktoken().encode_ordinary(text)
        stop = len(ids) if to_the_last else max(1, len(ids) - overlap)
        windows = (ids[at : at + size] for at in range(0, stop, size - overlap))
        return [
            edge(_tiktoken().decode_bytes(window).decode("utf-8", "replace")) for window in windows
        ]

    suffix = "" if edge is keep else f" {edge.__name__}"
    tail = " to the last" if to_the_last else ""
    return Chunker(
        f"tokens {size}/{overlap}{suffix}{tail}",
        cut,
        edge,
        ChunkingStrategy("tokens", size, overlap),
    )


def words(size: int, overlap: int, *, to_the_last: bool = False) -> Chunker:
    def cut(text: str) -> list[str]:
        found = text.split()
        stop = len(found) if to_the_last else max(1, len(found) - overlap)
        return [" ".join(found[at : at + size]) for at in range(0, stop, size - overlap)]

    tail = " to the last" if to_the_last else ""
    return Chunker(
        f"words {size}/{overlap}{tail}", cut, collapse, ChunkingStrategy("words", size, overlap)
    )


def chars(size: int, overlap: int) -> Chunker:
    def cut(text: str) -> list[str]:
        return [
            text[at : at + size] for at in range(0, max(1, len(text) - overlap), size - overlap)
        ]

    return Chunker(f"chars {size}/{overlap}", cut, keep, ChunkingStrategy("chars", size, overlap))


def recursive(size: int = 1000, overlap: int = 200) -> Chunker:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
    return Chunker(f"LangChain recursive {size}/{overlap}", splitter.split_text, strip)


def sentences(size: int = 512, overlap: int = 50) -> Chunker:
    from llama_index.core.node_parser import SentenceSplitter

    splitter = SentenceSplitter(chunk_size=size, chunk_overlap=overlap)
    return Chunker(f"LlamaIndex sentence {size}/{overlap}", splitter.split_text, strip)
