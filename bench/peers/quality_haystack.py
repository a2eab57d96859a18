"""Haystack: its joiner of two searches, its sentence window, and its auto-merging.

The sizes in its pages on auto-merging, blocks of 10 and 3 words, are there to be looked at; here
they are 400 and 100 words. A sentence window is of its usual chunks, 200 words each.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from haystack import Document  # type: ignore[import-not-found]  # in its interpreter
from haystack.components.joiners import DocumentJoiner  # type: ignore[import-not-found]
from haystack.components.preprocessors import (  # type: ignore[import-not-found]
    DocumentSplitter,
    HierarchicalDocumentSplitter,
)
from haystack.components.retrievers import (  # type: ignore[import-not-found]
    AutoMergingRetriever,
    InMemoryBM25Retriever,
    SentenceWindowRetriever,
)
from haystack.document_stores.in_memory import (  # type: ignore[import-not-found]
    InMemoryDocumentStore,
)

from bench.peers.quality_asked import (
    DEEP,
    Asked,
    Growing,
    Near,
    Own,
    Span,
    Ways,
    growing,
    play,
)

_BLOCKS = {400, 100}


def hybrid(asked: Asked) -> list[list[int]]:
    documents = [Document(id=str(at), content=text) for at, text in enumerate(asked.said)]
    by_words = InMemoryBM25Retriever(document_store=_store(documents), top_k=DEEP)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion")
    ranked = []
    for question, near in zip(asked.questions, asked.near, strict=True):
        said = by_words.run(query=question)["documents"]
        both = joiner.run(documents=[said, [documents[at] for at, _ in near[:DEEP]]])["documents"]
        ranked.append([int(one.id) for one in both])
    return ranked


def chunks(texts: Mapping[str, str]) -> tuple[list[Any], list[Span]]:
    splitter = DocumentSplitter(split_by="word", split_length=200, split_overlap=0)
    whole = [Document(content=text, meta={"name": name}) for name, text in texts.items()]
    made = splitter.run(documents=whole)["documents"]
    return made, [_span(one, one.meta["split_idx_start"]) for one in made]


def chunks_of(texts: Mapping[str, str]) -> list[Span]:
    return chunks(texts)[1]


def sentence_window(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    made, spans = chunks(asked.texts)
    retriever = SentenceWindowRetriever(document_store=_store(made))
    places = {one.id: span for one, span in zip(made, spans, strict=True)}

    def context(found: Near) -> Callable[[int], list[Span]]:
        best = [made[at] for at, _ in found]

        def shown(number: int) -> list[Span]:
            widened = retriever.run(retrieved_documents=best[:number])
            return [places[one.id] for one in widened["context_documents"]]

        return shown

    return [growing(context(found), DEEP) for found in near]


def hierarchy(texts: Mapping[str, str]) -> tuple[list[Any], dict[str, Span]]:
    splitter = HierarchicalDocumentSplitter(block_sizes=_BLOCKS)
    whole = [Document(content=text, meta={"name": name}) for name, text in texts.items()]
    made = splitter.run(documents=whole)["documents"]
    places: dict[str, Span] = {}
    for one in made:
        # A parent comes before its children, which know where they are in it.
        above = one.meta["__parent_id"]
        start = places[above][1] + one.meta["split_idx_start"] if above else 0
        places[one.id] = _span(one, start)
    return made, places


def leaves_of(texts: Mapping[str, str]) -> list[Span]:
    made, places = hierarchy(texts)
    return [places[one.id] for one in _leaves(made)]


def auto_merging(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    made, places = hierarchy(asked.texts)
    leaves = _leaves(made)
    merging = AutoMergingRetriever(_store([one for one in made if one.meta["__children_ids"]]))

    def context(found: Near) -> Callable[[int], list[Span]]:
        best = [leaves[at] for at, _ in found]
        return lambda number: [
            places[one.id] for one in merging.run(documents=best[:number])["documents"]
        ]

    return [growing(context(found), DEEP) for found in near]


def _leaves(made: Sequence[Any]) -> list[Any]:
    return [one for one in made if one.meta["__parent_id"] and not one.meta["__children_ids"]]


def _store(documents: Sequence[Any]) -> Any:  # noqa: ANN401 -- it has no types here
    store = InMemoryDocumentStore()
    store.write_documents(list(documents))
    return store


def _span(one: Any, start: int) -> Span:  # noqa: ANN401
    return one.meta["name"], start, start + len(one.content)


if __name__ == "__main__":
    play(
        Ways(
            {"Haystack hybrid": hybrid},
            {},
            {
                "Haystack SentenceWindow": Own(chunks_of, sentence_window),
                "Haystack AutoMerging": Own(leaves_of, auto_merging),
            },
        )
    )
