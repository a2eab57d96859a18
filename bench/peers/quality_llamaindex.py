"""LlamaIndex: fusion, auto-merging, previous and next, and the sentence window, as documented."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from llama_index.core import Document, StorageContext
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    get_leaf_nodes,
)
from llama_index.core.postprocessor import PrevNextNodePostprocessor
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.retrievers.bm25 import BM25Retriever

from bench.peers.quality_asked import (
    DEEP,
    Asked,
    Growing,
    Near,
    Own,
    Span,
    Ways,
    growing,
    grown,
    located,
    play,
)

Nodes = list[Any]


class Found(BaseRetriever):  # type: ignore[misc]  # its types are not read
    """What is nearest, as it was found; no more than `number`."""

    def __init__(self, nodes: Sequence[Any], near: Mapping[str, Near]) -> None:
        super().__init__()
        self._nodes, self._near, self.number = nodes, near, DEEP

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._near[query_bundle.query_str][: self.number]
        return [NodeWithScore(node=self._nodes[at], score=score) for at, score in found]


def fusion(asked: Asked) -> list[list[int]]:
    """Without its other wordings of the question, for which it asks a chat model."""
    # It takes nodes of the same text and metadata for one and adds up their worth, so that what
    # many documents repeat would come first. In use, metadata tell them apart.
    nodes = [
        TextNode(text=text, id_=str(at), metadata={"at": at}, excluded_embed_metadata_keys=["at"])
        for at, text in enumerate(asked.said)
    ]
    near = dict(zip(asked.questions, asked.near, strict=True))
    both = QueryFusionRetriever(
        [Found(nodes, near), BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=DEEP)],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=DEEP,
        num_queries=1,
        use_async=False,
    )
    return [[int(one.node.node_id) for one in both.retrieve(it)] for it in asked.questions]


# Texts are cut once to be embedded and once more to be searched: in the same order.


def hierarchy(texts: Mapping[str, str]) -> tuple[Nodes, Nodes, dict[str, Span]]:
    """All nodes, the leaves of them, and where each stands, by its id."""
    every: Nodes = []
    places: dict[str, Span] = {}
    parser = HierarchicalNodeParser.from_defaults()
    for name, text in texts.items():
        made = parser.get_nodes_from_documents([Document(text=text, id_=name)])
        every += made
        leaves = get_leaf_nodes(made)
        spans = located(name, text, [one.text for one in leaves])
        places |= {one.node_id: span for one, span in zip(leaves, spans, strict=True)}
        # A parent comes before its children.
        for one in reversed(made):
            if one.node_id not in places:
                below = [places[child.node_id] for child in one.child_nodes]
                places[one.node_id] = (
                    name,
                    min(start for _, start, _ in below),
                    max(end for _, _, end in below),
                )
    return every, get_leaf_nodes(every), places


def leaves_of(texts: Mapping[str, str]) -> list[Span]:
    _, leaves, places = hierarchy(texts)
    return [places[one.node_id] for one in leaves]


def auto_merging(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    every, leaves, places = hierarchy(asked.texts)
    store = SimpleDocumentStore()
    store.add_documents(every)
    found = Found(leaves, dict(zip(asked.questions, near, strict=True)))
    merging = AutoMergingRetriever(found, StorageContext.from_defaults(docstore=store))

    def context(question: str) -> Callable[[int], list[Span]]:
        def best(number: int) -> list[Span]:
            found.number = number
            return [places[one.node.node_id] for one in merging.retrieve(question)]

        return best

    return [growing(context(question), DEEP) for question in asked.questions]


def sentence_chunks(texts: Mapping[str, str]) -> tuple[Nodes, dict[str, Span]]:
    splitter = SentenceSplitter(chunk_size=1024, chunk_overlap=200)
    every: Nodes = []
    places: dict[str, Span] = {}
    for name, text in texts.items():
        for one in splitter.get_nodes_from_documents([Document(text=text, id_=name)]):
            every.append(one)
            places[one.node_id] = (name, one.start_char_idx, one.end_char_idx)
    return every, places


def chunks_of(texts: Mapping[str, str]) -> list[Span]:
    every, places = sentence_chunks(texts)
    return [places[one.node_id] for one in every]


def prev_next(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    every, places = sentence_chunks(asked.texts)
    store = SimpleDocumentStore()
    store.add_documents(every)
    widen = PrevNextNodePostprocessor(docstore=store, num_nodes=1, mode="both")

    def context(found: Near) -> Callable[[int], list[Span]]:
        nodes = [NodeWithScore(node=every[at], score=score) for at, score in found]
        return lambda number: [
            places[one.node.node_id] for one in widen.postprocess_nodes(nodes[:number])
        ]

    return [growing(context(found), DEEP) for found in near]


def sentences_of(texts: Mapping[str, str]) -> list[Span]:
    parser = SentenceWindowNodeParser.from_defaults()
    return [
        span
        for name, text in texts.items()
        for span in located(
            name,
            text,
            [one.text for one in parser.get_nodes_from_documents([Document(text=text)])],
        )
    ]


def sentence_window(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    """A sentence is found; it is shown with three on each side, which is its usual number."""
    every = sentences_of(asked.texts)

    @cache
    def window(at: int) -> Span:
        name = every[at][0]
        around = [one for one in every[max(at - 3, 0) : at + 4] if one[0] == name]
        return name, around[0][1], around[-1][2]

    return [grown([window(at) for at, _ in found]) for found in near]


if __name__ == "__main__":
    play(
        Ways(
            {"LlamaIndex fusion": fusion},
            {},
            {
                "LlamaIndex AutoMerging": Own(leaves_of, auto_merging),
                "LlamaIndex PrevNext": Own(chunks_of, prev_next),
                "LlamaIndex sentence window": Own(sentences_of, sentence_window),
            },
        )
    )
