"""Who takes part in what is asked and taken in: us, the floors, and the peers, each as it is used."""

from bench.figures import OURS
from bench.running import Run
from bench.turns import Contestant

BARE, SCAN = "bare engine", "numpy's scan"
VECTOR, LEXICAL, HYBRID, CONTEXT = "vector", "lexical", "hybrid", "chunk-aware"


# The floor looks into our library before we open it.
CONTESTANTS = (
    Contestant(
        BARE,
        "bare",
        "engine",
        ways=dict.fromkeys((VECTOR, LEXICAL, HYBRID, CONTEXT), BARE),
        indexed=True,
        shares="ours",
    ),
    Contestant(SCAN, "bare", "scan", ways={VECTOR: SCAN}),
    Contestant(
        OURS,
        "ours",
        ways=dict.fromkeys((VECTOR, LEXICAL, HYBRID, CONTEXT), OURS),
        indexed=True,
    ),
    Contestant(
        "LangChain, Chroma",
        "langchain_peer",
        "chroma",
        "langchain",
        {
            VECTOR: "LangChain, Chroma",
            LEXICAL: "LangChain, BM25",
            HYBRID: "LangChain, Ensemble",
            CONTEXT: "LangChain, ParentDocument",
        },
        indexed=True,
    ),
    Contestant(
        "LangChain, FAISS", "langchain_peer", "faiss", "langchain", {VECTOR: "LangChain, FAISS"}
    ),
    Contestant(
        "LlamaIndex, Chroma",
        "llamaindex_peer",
        "chroma",
        "llamaindex",
        {
            VECTOR: "LlamaIndex, Chroma",
            LEXICAL: "LlamaIndex, BM25",
            HYBRID: "LlamaIndex, QueryFusion",
            CONTEXT: "LlamaIndex, PrevNext",
        },
        indexed=True,
    ),
    Contestant(
        "LlamaIndex, simple",
        "llamaindex_peer",
        "simple",
        "llamaindex",
        {VECTOR: "LlamaIndex, simple", CONTEXT: "LlamaIndex, AutoMerging"},
    ),
    Contestant(
        "Haystack, in memory",
        "haystack_peer",
        "memory",
        "haystack",
        {
            VECTOR: "Haystack, in memory",
            LEXICAL: "Haystack, BM25",
            HYBRID: "Haystack, joined",
            CONTEXT: "Haystack, SentenceWindow",
        },
    ),
    Contestant(
        "Haystack, Qdrant",
        "haystack_peer",
        "qdrant",
        "haystack",
        {VECTOR: "Haystack, Qdrant", CONTEXT: "Haystack, AutoMerging"},
        indexed=True,
    ),
    Contestant(
        "txtai",
        "txtai_peer",
        "",
        "txtai",
        dict.fromkeys((VECTOR, LEXICAL, HYBRID), "txtai"),
        indexed=True,
    ),
)

# Of the same makers as others, and slow for their size.
_NOT_QUICK = ("LlamaIndex, simple", "Haystack, in memory")


def contestants(run: Run) -> list[Contestant]:
    return [one for one in CONTESTANTS if not run.is_quick or one.name not in _NOT_QUICK]


BY_INDEX = [one.ways[VECTOR] for one in CONTESTANTS if one.indexed]
"""What a search by vectors is called where it has an index; the floor is the bare engine."""
BY_SCAN = [OURS, *(one.ways[VECTOR] for one in CONTESTANTS if not one.indexed)]
"""Likewise where it looks at all rows, and ours; the floor is numpy."""
