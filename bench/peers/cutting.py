"""The chunkers that people use, each as a player: it cuts a file's text, and tells into how many.

A variant is one of `VARIANTS`; a way is a job of `bench.measures.chunking`. A text is read once, so
that only the cutting is timed. All make the texts of their chunks.
"""

import os
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.peers.embedding import Embedding
from bench.peers.playing import Player

Cut = Callable[[str], Sequence[object]]
_MODEL = "gpt-3.5-turbo"
# In a file of several documents.
BETWEEN = "\f"


class Cutter(Player):
    """What is cut is thrown away."""

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self._texts: dict[Path, list[str]] = {}
        self._cuts: dict[str, Cut] = {}

    def build(
        self,
        documents: Any,  # noqa: ANN401, ARG002 -- the text is at `folder`
        embedding: Embedding,  # noqa: ARG002
        folder: Path,
        wanted: Collection[str],
    ) -> int:
        if folder not in self._texts:
            self._texts[folder] = folder.read_text("utf-8").split(BETWEEN)
        (job,) = wanted
        if job not in self._cuts:
            self._cuts[job] = VARIANTS[self.variant]()[job]()
        return sum(len(self._cuts[job](text)) for text in self._texts[folder])


def player(variant: str) -> Player:
    return Cutter(variant)


Jobs = dict[str, Callable[[], Cut]]


@cache
def _tiktoken() -> Any:  # noqa: ANN401 -- not typed in each interpreter
    """With the vocabulary that llama-index-core carries, so that none is fetched."""
    import tiktoken

    found = find_spec("llama_index.core")
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError("llama-index-core, whose vocabulary is used")
    folder = Path(found.submodule_search_locations[0]) / "_static" / "tiktoken_cache"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    return tiktoken.get_encoding("cl100k_base")


def _ours() -> Jobs:
    from unchunk.domain import Boundaries, ChunkingStrategy, Unit
    from unchunk.text.chunking import chunk

    def job(unit: Unit, size: int, overlap: int, boundaries: Boundaries) -> Callable[[], Cut]:
        strategy = ChunkingStrategy(unit, size, overlap)
        return lambda: (
            lambda text: [span.of(text) for span in chunk(text, strategy, boundaries=boundaries)]
        )

    return {
        "window of 1000/200 chars": job("chars", 1000, 200, "window"),
        "window of 320/80 words": job("words", 320, 80, "window"),
        "window of 800/400 tokens": job("tokens", 800, 400, "window"),
        "boundary at 1000/200 chars": job("chars", 1000, 200, "boundary"),
        "boundary at 1000/0 chars": job("chars", 1000, 0, "boundary"),
        "boundary at 400/80 tokens": job("tokens", 400, 80, "boundary"),
        "Markdown at 1000/200 chars": job("chars", 1000, 200, "markdown"),
    }


def _floor() -> Jobs:
    """What any must do at least: find the words or tokens, if these are counted, and slice."""
    from unchunk.text.tokens import get_encoding

    encode = get_encoding("cl100k_base").encode

    def chars(size: int, step: int) -> Callable[[], Cut]:
        return lambda: lambda text: [text[at : at + size] for at in range(0, len(text), step)]

    def counted(
        found: Callable[[str], Sequence[object]], size: int, step: int
    ) -> Callable[[], Cut]:
        def cut(text: str) -> list[str]:
            count = len(found(text))
            each = len(text) / max(count, 1)
            return [
                text[round(at * each) : round((at + size) * each)] for at in range(0, count, step)
            ]

        return lambda: cut

    return {
        "window of 1000/200 chars": chars(1000, 800),
        "window of 320/80 words": counted(str.split, 320, 240),
        "window of 800/400 tokens": counted(encode, 800, 400),
        "boundary at 1000/200 chars": chars(1000, 800),
        "boundary at 1000/0 chars": chars(1000, 1000),
        "boundary at 400/80 tokens": counted(encode, 400, 320),
        "Markdown at 1000/200 chars": chars(1000, 800),
    }


def _chonkie_token() -> Jobs:
    from chonkie import TokenChunker

    return {
        "window of 1000/200 chars": lambda: TokenChunker("character", 1000, 200),
        "window of 320/80 words": lambda: TokenChunker("word", 320, 80),
        "window of 800/400 tokens": lambda: TokenChunker(_tiktoken(), 800, 400),
    }


def _chonkie_sentence() -> Jobs:
    from chonkie import SentenceChunker

    return {
        "boundary at 1000/200 chars": lambda: SentenceChunker("character", 1000, 200),
        "boundary at 1000/0 chars": lambda: SentenceChunker("character", 1000),
        "boundary at 400/80 tokens": lambda: SentenceChunker(_tiktoken(), 400, 80),
    }


def _chonkie_recursive() -> Jobs:
    """It has no overlap. Made anew for each text: it remembers the counts of texts it has seen."""
    from chonkie import RecursiveChunker

    def anew(tokenizer: Any, size: int) -> Cut:  # noqa: ANN401
        def cut(text: str) -> Sequence[object]:
            found: Sequence[object] = RecursiveChunker(tokenizer, size)(text)
            return found

        return cut

    return {
        "boundary at 1000/0 chars": lambda: anew("character", 1000),
        "boundary at 400/80 tokens": lambda: anew(_tiktoken(), 400),
    }


def _text_splitter() -> Jobs:
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    return {
        "boundary at 1000/200 chars": lambda: TextSplitter(1000, 200).chunks,
        "boundary at 1000/0 chars": lambda: TextSplitter(1000).chunks,
        "boundary at 400/80 tokens": lambda: (
            TextSplitter.from_tiktoken_model(_MODEL, 400, 80).chunks
        ),
        "Markdown at 1000/200 chars": lambda: MarkdownSplitter(1000, 200).chunks,
    }


def _langchain() -> Jobs:
    """Markdown by `from_language`: `MarkdownTextSplitter` takes its patterns for plain text."""
    from langchain_text_splitters import (
        Language,
        RecursiveCharacterTextSplitter,
        TokenTextSplitter,
    )

    def encoded(make: Callable[[], Any]) -> Callable[[], Cut]:
        def made() -> Cut:
            _tiktoken()
            cut: Cut = make().split_text
            return cut

        return made

    return {
        "window of 800/400 tokens": encoded(
            lambda: TokenTextSplitter("cl100k_base", None, chunk_size=800, chunk_overlap=400)
        ),
        "boundary at 1000/200 chars": lambda: (
            RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200).split_text
        ),
        "boundary at 1000/0 chars": lambda: (
            RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=0).split_text
        ),
        "boundary at 400/80 tokens": encoded(
            lambda: RecursiveCharacterTextSplitter.from_tiktoken_encoder(
                "cl100k_base", chunk_size=400, chunk_overlap=80
            )
        ),
        "Markdown at 1000/200 chars": lambda: (
            RecursiveCharacterTextSplitter.from_language(
                Language.MARKDOWN, chunk_size=1000, chunk_overlap=200
            ).split_text
        ),
    }


def _llamaindex() -> Jobs:
    from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter

    def encode(text: str) -> Any:  # noqa: ANN401
        return _tiktoken().encode_ordinary(text)

    return {
        "window of 800/400 tokens": lambda: (
            TokenTextSplitter(chunk_size=800, chunk_overlap=400, tokenizer=encode).split_text
        ),
        "boundary at 1000/200 chars": lambda: (
            SentenceSplitter(chunk_size=1000, chunk_overlap=200, tokenizer=list).split_text
        ),
        "boundary at 1000/0 chars": lambda: (
            SentenceSplitter(chunk_size=1000, chunk_overlap=0, tokenizer=list).split_text
        ),
        "boundary at 400/80 tokens": lambda: (
            SentenceSplitter(chunk_size=400, chunk_overlap=80, tokenizer=encode).split_text
        ),
    }


VARIANTS: dict[str, Callable[[], Jobs]] = {
    "ours": _ours,
    "floor": _floor,
    "chonkie token": _chonkie_token,
    "chonkie sentence": _chonkie_sentence,
    "chonkie recursive": _chonkie_recursive,
    "text-splitter": _text_splitter,
    "langchain": _langchain,
    "llamaindex": _llamaindex,
}
