"""How others cut texts and widen what was found in them: the peers of `bench.quality`.

A program of its own, `REQUEST ANSWER`, both JSON, which needs nothing but the peers it is asked
for, so that it runs in any interpreter; a peer that is not there is named with what is missing.
Without hits in the request it cuts; with them it widens, by the peers' own code.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# What is embedded, and what is shown when it is found: two ranges of a text.
Item = tuple[int, int, int, int]
# A document, and the number of an item in it.
Hit = tuple[str, int]
Shown = list[tuple[str, int, int]]
Texts = dict[str, str]

RECURSIVE, TOKENS = "LangChain recursive 200/0 tokens", "LangChain tokens 250/125"
WINDOW = "LlamaIndex sentence window 3"
PREV_NEXT = "LlamaIndex 1024/200 tokens, PrevNext 1"
HAYSTACK = "Haystack 200 words, window 3"
# Those of the paper that chunking_evaluation comes from: the library's own find less.
_SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]
_ENCODING = "cl100k_base"


def _vocabulary() -> None:
    """The one that llama-index-core carries, so that none is fetched."""
    import llama_index.core

    folder = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)


def recursive(text: str) -> list[Item]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    _vocabulary()
    cutter = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        _ENCODING, chunk_size=200, chunk_overlap=0, separators=_SEPARATORS
    )
    return _located(text, cutter.split_text(text))


def tokens(text: str) -> list[Item]:
    from langchain_text_splitters import TokenTextSplitter

    _vocabulary()
    cutter = TokenTextSplitter(_ENCODING, chunk_size=250, chunk_overlap=125)
    return _located(text, cutter.split_text(text), apart=False)


def sentence_window(text: str) -> list[Item]:
    """A sentence is embedded; it is shown with three on each side."""
    from llama_index.core import Document
    from llama_index.core.node_parser import SentenceWindowNodeParser

    parser = SentenceWindowNodeParser.from_defaults(window_size=3)
    nodes = parser.get_nodes_from_documents([Document(text=text)])
    found = _located(text, [one.text for one in nodes])
    last = len(found) - 1
    return [
        (start, end, found[max(at - 3, 0)][0], found[min(at + 3, last)][1])
        for at, (start, end, _, _) in enumerate(found)
    ]


def sentence_chunks(text: str) -> list[Item]:
    return [(*span, *span) for span in (_span(one) for one in _nodes("", text))]


def words(text: str) -> list[Item]:
    made = []
    for one in _haystack({"": text}):
        start = one.meta["split_idx_start"]
        span = start, start + len(one.content)
        made.append((*span, *span))
    return made


def prev_next(texts: Texts, asked: Sequence[Sequence[Hit]]) -> list[Shown]:
    from llama_index.core.postprocessor import PrevNextNodePostprocessor
    from llama_index.core.schema import NodeWithScore
    from llama_index.core.storage.docstore import SimpleDocumentStore

    every = {name: _nodes(name, text) for name, text in texts.items()}
    owners = {one.node_id: name for name, nodes in every.items() for one in nodes}
    store = SimpleDocumentStore()
    store.add_documents([one for nodes in every.values() for one in nodes])
    widen = PrevNextNodePostprocessor(docstore=store, num_nodes=1, mode="both")
    return [
        [
            (owners[one.node.node_id], *_span(one.node))
            for one in widen.postprocess_nodes(
                [NodeWithScore(node=every[name][at], score=1.0) for name, at in hits]
            )
        ]
        for hits in asked
    ]


def haystack_window(texts: Texts, asked: Sequence[Sequence[Hit]]) -> list[Shown]:
    from haystack.components.retrievers import SentenceWindowRetriever  # type: ignore[import-not-found]
    from haystack.document_stores.in_memory import InMemoryDocumentStore  # type: ignore[import-not-found]

    every = {name: _haystack({name: text}) for name, text in texts.items()}
    store = InMemoryDocumentStore()
    store.write_documents([one for some in every.values() for one in some])
    retriever = SentenceWindowRetriever(document_store=store, window_size=3)
    answers = []
    for hits in asked:
        found = [every[name][at] for name, at in hits]
        windows = retriever.run(retrieved_documents=found)["context_windows"]
        shown = []
        for (name, at), window in zip(hits, windows, strict=True):
            start = every[name][max(at - 3, 0)].meta["split_idx_start"]
            if texts[name][start : start + len(window)] != window:
                raise SystemExit(f"Haystack's window is not where it should be: {window[:80]!r}")
            shown.append((name, start, start + len(window)))
        answers.append(shown)
    return answers


CUTTERS: dict[str, Callable[[str], list[Item]]] = {
    RECURSIVE: recursive,
    TOKENS: tokens,
    WINDOW: sentence_window,
    PREV_NEXT: sentence_chunks,
    HAYSTACK: words,
}
WIDENERS: dict[str, Callable[[Texts, Sequence[Sequence[Hit]]], list[Shown]]] = {
    PREV_NEXT: prev_next,
    HAYSTACK: haystack_window,
}


def _nodes(name: str, text: str) -> list[Any]:
    from llama_index.core import Document
    from llama_index.core.node_parser import SentenceSplitter

    splitter = SentenceSplitter(chunk_size=1024, chunk_overlap=200)
    return list(splitter.get_nodes_from_documents([Document(text=text, id_=name or "one")]))


def _span(node: Any) -> tuple[int, int]:  # noqa: ANN401 - its types are not read
    return node.start_char_idx, node.end_char_idx


def _haystack(texts: Texts) -> list[Any]:
    from haystack import Document  # type: ignore[import-not-found]
    from haystack.components.preprocessors import DocumentSplitter  # type: ignore[import-not-found]

    splitter = DocumentSplitter(split_by="word", split_length=200, split_overlap=0)
    documents = [Document(content=text, meta={"name": name}) for name, text in texts.items()]
    return list(splitter.run(documents=documents)["documents"])


def _located(text: str, pieces: Sequence[str], *, apart: bool = True) -> list[Item]:
    """Where the pieces stand, which follow each other. Some begin or end inside a character."""
    found: list[Item] = []
    at = 0
    for piece in pieces:
        tries = ((one, text.find(one, at)) for one in (piece, piece.strip("\ufffd"), piece.strip()))
        said, start = next(((one, where) for one, where in tries if where >= 0), (piece, -1))
        if start < 0:
            raise SystemExit(f"a piece is not in its text: {piece[:80]!r}")
        end = start + len(said)
        if said.strip():
            found.append((start, end, start, end))
        at = end if apart else start + 1
    return found


def main() -> None:
    asked, answer = (Path(one) for one in sys.argv[1:])
    request = json.loads(asked.read_text("utf-8"))
    made: dict[str, object] = {}
    missing: dict[str, str] = {}
    for peer in request["peers"]:
        try:
            if "hits" in request:
                made[peer] = WIDENERS[peer](request["texts"], request["hits"][peer])
            else:
                texts = request["texts"].items()
                made[peer] = {name: CUTTERS[peer](text) for name, text in texts}
        except ImportError as error:
            missing[peer] = str(error)
    answer.write_text(json.dumps({"made": made, "missing": missing}), "utf-8")


if __name__ == "__main__":
    main()
