"""Texts cut by LangChain's and LlamaIndex's own splitters, in stores as their classes fill them.

`recovered` gets them back by the adapters and says how many came back; a benchmark may call it with
all of the corpora.
"""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from qdrant_client import QdrantClient, models

from adapters.sources import stores
from unchunk.ports import LostFiles
from unchunk.recovery.joining import Fetched, joined
from unchunk.text.stitching import Confidence, Stitched

_AT_ONCE = 1_000


class Row(NamedTuple):
    """A chunk as a library hands it to a store; `nested` is how Qdrant has it, `flat` Chroma."""

    id: str
    text: str
    nested: dict[str, Any]
    flat: dict[str, Any]


def langchain(texts: Mapping[str, str], *, offsets: bool) -> Iterator[list[Row]]:
    """Each text as `RecursiveCharacterTextSplitter` cuts it, and as its stores write it."""
    from langchain_core.documents import Document
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=1000, chunk_overlap=200, add_start_index=offsets
    )
    for name, text in texts.items():
        made = splitter.split_documents([Document(text, metadata={"source": name})])
        yield [
            Row(
                "",
                one.page_content,
                {"page_content": one.page_content, "metadata": one.metadata},
                one.metadata,
            )
            for one in made
        ]


def llama_index(texts: Mapping[str, str], *, offsets: bool) -> Iterator[list[Row]]:
    """Each text as `SentenceSplitter` cuts it, and as its stores write it.

    Without offsets, as parsers leave nodes that do not find them: their neighbours are named.
    """
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import Document
    from llama_index.core.vector_stores.utils import node_to_metadata_dict

    splitter = SentenceSplitter(chunk_size=512, chunk_overlap=50)
    for name, text in texts.items():
        nodes: list[Any] = splitter.get_nodes_from_documents([Document(text=text, id_=name)])
        if not offsets:
            for node in nodes:
                node.start_char_idx = node.end_char_idx = None
        yield [
            Row(
                node.node_id,
                node.text,
                node_to_metadata_dict(node),
                node_to_metadata_dict(node, remove_text=True, flat_metadata=True),
            )
            for node in nodes
        ]


def in_store(files: Sequence[Sequence[Row]], *, shuffled: bool) -> list[Row]:
    """All rows with ids; where they are `shuffled`, the order of ids says nothing.

    LlamaIndex's nodes have ids of their own, which say nothing in any case.
    """
    rng = random.Random(7)
    rows = [row for file in files for row in file]
    if shuffled:
        rng.shuffle(rows)
    return [
        row if row.id else row._replace(id=str(uuid.UUID(int=at))) for at, row in enumerate(rows)
    ]


def fill_qdrant(url: str, collection: str, rows: Sequence[Row]) -> None:
    client = QdrantClient(url=url, check_compatibility=False, timeout=60)
    try:
        size = models.VectorParams(size=2, distance=models.Distance.DOT)
        client.create_collection(collection, vectors_config=size)
        for some in _batches(rows):
            points = [
                models.PointStruct(id=it.id, vector=[1.0, 1.0], payload=it.nested) for it in some
            ]
            client.upsert(collection, points, wait=True)
    finally:
        client.close()


def fill_chroma(where: str, collection: str, rows: Sequence[Row]) -> None:
    with stores.chroma_client(where) as client:
        made = client.create_collection(collection, embedding_function=None)
        for some in _batches(rows):
            made.add(
                ids=[it.id for it in some],
                embeddings=[[1.0, 1.0] for _ in some],
                documents=[it.text for it in some],
                metadatas=[it.flat for it in some],
            )


def _batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while some := list(islice(left, _AT_ONCE)):
        yield some


@dataclass
class Rates:
    """How many files of more than one chunk came back, but for white space at their ends.

    `claims` counts what was said of each, and whether it came back byte for byte.
    """

    files: int = 0
    right: int = 0
    claims: Counter[tuple[Confidence, bool]] = field(default_factory=Counter)
    unnamed: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.right / max(1, self.files)


async def recovered(store: LostFiles, originals: Mapping[str, str]) -> Rates:
    """What comes back of `originals`; `unnamed` are failures that the result does not show."""
    rates = Rates()
    fetched = []
    async for file in store.files():
        chunks = await store.chunks(file)
        if len(chunks.texts) > 1:
            fetched.append(Fetched(file, chunks, None))
    for one, result in zip(fetched, joined(fetched), strict=True):
        assert isinstance(result, Stitched)
        text = originals[one.file.id]
        rates.files += 1
        rates.right += result.text == text.strip()
        rates.claims[result.confidence, result.text == text] += 1
        sure = result.confidence in ("verified", "consensus", "exact")
        if (sure and result.text != text) or (
            result.confidence == "normalized" and result.text != text.strip()
        ):
            rates.unnamed.append(one.file.id)
    return rates


Cutter = Callable[..., Iterator[list[Row]]]
Open = Callable[[str], LostFiles]


def rates(
    texts: Mapping[str, str],
    cut: Cutter,
    fill: Callable[[str, Sequence[Row]], None],
    open_store: Open,
    collection: str,
    *,
    offsets: bool,
    shuffled: bool,
) -> Rates:
    """Cut, put into a new collection by `fill`, and got back from it by `open_store`."""
    fill(collection, in_store(list(cut(texts, offsets=offsets)), shuffled=shuffled))

    async def scene() -> Rates:
        store = open_store(collection)
        try:
            return await recovered(store, texts)
        finally:
            await store.close()

    return asyncio.run(scene())
