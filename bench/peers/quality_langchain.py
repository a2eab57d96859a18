"""LangChain: its ensemble, and its parent documents.

The ensemble's search by words is given words in small letters, as its page advises; as it comes,
it takes "Dogs," for another word than "dogs".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_classic.retrievers import (  # type: ignore[import-not-found]  # in its interpreter
    EnsembleRetriever,
    ParentDocumentRetriever,
)
from langchain_classic.storage import InMemoryStore  # type: ignore[import-not-found]
from langchain_community.retrievers import BM25Retriever  # type: ignore[import-not-found]
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

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


class Found(BaseRetriever):
    """What is nearest, as it was found."""

    near: dict[str, list[Document]]

    def _get_relevant_documents(self, query: str, **_: object) -> list[Document]:
        return self.near[query]


class Children(VectorStore):
    """Holds what it is given; what is nearest of it is known."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.near: dict[str, Near] = {}

    def add_documents(self, documents: list[Document], **_: object) -> list[str]:
        self.documents += documents
        return []

    def similarity_search(self, query: str, k: int = 4, **_: object) -> list[Document]:
        return [self.documents[at] for at, _ in self.near[query][:k]]

    @classmethod
    def from_texts(cls, *_: object, **__: object) -> "Children":
        raise NotImplementedError


def ensemble(asked: Asked) -> list[list[int]]:
    documents = [Document(text, metadata={"at": at}) for at, text in enumerate(asked.said)]
    by_words = BM25Retriever.from_documents(
        documents, k=DEEP, preprocess_func=lambda text: re.findall(r"\w+", text.lower())
    )
    near = {
        question: [documents[at] for at, _ in found[:DEEP]]
        for question, found in zip(asked.questions, asked.near, strict=True)
    }
    both = EnsembleRetriever(
        retrievers=[by_words, Found(near=near)], weights=[0.5, 0.5], id_key="at"
    )
    return [[one.metadata["at"] for one in both.invoke(it)] for it in asked.questions]


def parents(texts: Mapping[str, str]) -> tuple[Any, Children]:
    """With the sizes of its documentation, and its usual overlap."""
    children = Children()
    retriever = ParentDocumentRetriever(
        vectorstore=children,
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=400, add_start_index=True),
        parent_splitter=RecursiveCharacterTextSplitter(chunk_size=2000, add_start_index=True),
    )
    retriever.add_documents([Document(text, metadata={"name": it}) for it, text in texts.items()])
    return retriever, children


def children_of(texts: Mapping[str, str]) -> list[Span]:
    retriever, children = parents(texts)
    made = []
    for child in children.documents:
        [parent] = retriever.docstore.mget([child.metadata["doc_id"]])
        start = parent.metadata["start_index"] + child.metadata["start_index"]
        made.append((child.metadata["name"], start, start + len(child.page_content)))
    return made


def parent_documents(asked: Asked, near: Sequence[Near]) -> list[Growing]:
    retriever, children = parents(asked.texts)
    children.near = dict(zip(asked.questions, near, strict=True))

    def context(question: str, number: int) -> list[Span]:
        retriever.search_kwargs = {"k": number}
        return [_span(one) for one in retriever.invoke(question)]

    return [growing(lambda it, one=one: context(one, it), DEEP) for one in asked.questions]  # type: ignore[misc]


def _span(one: Document) -> Span:
    start = one.metadata["start_index"]
    return one.metadata["name"], start, start + len(one.page_content)


if __name__ == "__main__":
    play(
        Ways(
            {"LangChain Ensemble": ensemble},
            {},
            {"LangChain ParentDocument": Own(children_of, parent_documents)},
        )
    )
