"""LangChain's recursive chunks of 200 tokens without overlap, searched by meaning alone.

So a study of chunkers, which chunking_evaluation comes from, found them best.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import llama_index.core
from langchain_text_splitters import RecursiveCharacterTextSplitter

from bench.peers.quality_asked import Asked, Growing, Near, Own, Span, Ways, grown, located, play

# Those of the study, which finds more with them than with the library's own.
_SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]


def cut(texts: Mapping[str, str]) -> list[Span]:
    # The vocabulary that llama-index-core carries, so that none is fetched.
    folder = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    splitter = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        "cl100k_base", chunk_size=200, chunk_overlap=0, separators=_SEPARATORS
    )
    return [
        span
        for name, text in texts.items()
        for span in located(name, text, splitter.split_text(text))
    ]


def nearest(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    items = cut(asked.texts)
    return [grown([items[at] for at, _ in found]) for found in near]


if __name__ == "__main__":
    play(Ways({}, {}, {"LangChain recursive 200/0": Own(cut, nearest)}))
