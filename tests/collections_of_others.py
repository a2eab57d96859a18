"""A collection as somebody else fills it, whose chunks have the scores that a test wants."""

import ast
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from zlib import crc32

from qdrant_client import AsyncQdrantClient, QdrantClient, models

import unchunk
from seed_documents import code_blocks
from sheets import prose

NAME = "pms_collection"
LOW = 0.1


def words(count: int, seed: int) -> str:
    """Sentences of so many words in all."""
    return " ".join(prose(count * 12, seed).split()[:count])


class Model:
    """Embeds in the style of sentence-transformers: known texts by their scores, all else as
    the question, whose cosine with a known text is that text's score.
    """

    def __init__(self) -> None:
        self.scores: dict[str, float] = {}

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(self.scores.get(text, 1.0)) for text in texts]

    @staticmethod
    def _vector(score: float) -> list[float]:
        return [score, (1 - score * score) ** 0.5]


class Page:
    """One document of the collection, cut as document 001 cuts."""

    def __init__(
        self,
        mongo_id: str,
        scores: Mapping[int, float],
        *,
        text: str = "",
        chunks: int = 10,
        **more: str,
    ) -> None:
        # One chunk is 320 words, of which the next one repeats 80.
        self.text = text or words(320 + 240 * (chunks - 1), seed=crc32(mongo_id.encode()))
        self.chunks = unchunk.chunk_text(self.text, max_words=320, overlap_words=80)
        self.mongo_id, self.scores, self.more = mongo_id, scores, more

    def payloads(self) -> Iterator[tuple[dict[str, Any], float]]:
        """With the fields of document 001, each with the score that it is to have."""
        for at, chunk in enumerate(self.chunks):
            named = {"mongo_id": self.mongo_id, "parent_id": self.mongo_id, "chunk_index": at}
            rest = {"chunk_count": len(self.chunks), "content": chunk}
            known = {"title": f"Page {self.mongo_id}", "content_type": "page", **self.more}
            yield {**named, **rest, **known}, self.scores.get(at, LOW)


def points(model: Model, *pages: Page) -> list[models.PointStruct]:
    every = [one for page in pages for one in page.payloads()]
    model.scores |= {payload["content"]: score for payload, score in every}
    return [
        models.PointStruct(id=at, vector=model.encode([payload["content"]])[0], payload=payload)
        for at, (payload, _) in enumerate(every)
    ]


VECTORS = models.VectorParams(size=2, distance=models.Distance.COSINE)


class CountingClient(QdrantClient):
    """A client in memory that notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def query_points(self, *args: Any, **named: Any) -> models.QueryResponse:  # noqa: ANN401 - theirs
        self.calls.append(("query", named))
        return super().query_points(*args, **named)

    def scroll(self, *args: Any, **named: Any) -> Any:  # noqa: ANN401 - theirs
        self.calls.append(("scroll", named))
        return super().scroll(*args, **named)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [named for name, named in self.calls if name == kind]


def filled(*pages: Page) -> tuple[CountingClient, Model]:
    """A collection in memory of these pages, and the model that embedded it."""
    client, model = CountingClient(), Model()
    fill(client, model, *pages)
    return client, model


def fill(client: QdrantClient, model: Model, *pages: Page) -> None:
    client.create_collection(NAME, vectors_config=VECTORS)
    client.upsert(NAME, points(model, *pages))


@asynccontextmanager
async def client_of(
    kind: str, folder: Path, url: str, *pages: Page
) -> AsyncIterator[tuple[QdrantClient | AsyncQdrantClient, Model]]:
    """A client such as "async folder" over a collection of these pages, and their model."""
    style, _, where = kind.partition(" ")
    places: dict[str, dict[str, Any]] = {
        "memory": {"location": ":memory:"},
        "folder": {"path": str(folder / "qdrant")},
        "server": {"url": url, "check_compatibility": False},
    }
    model, name = Model(), NAME
    if style == "async":
        client = AsyncQdrantClient(**places[where])
        await client.delete_collection(name)
        await client.create_collection(name, vectors_config=VECTORS)
        await client.upsert(name, points(model, *pages), wait=True)
        yield client, model
        await client.close()
        return
    with closing(QdrantClient(**places[where])) as plain:
        plain.delete_collection(name)
        fill(plain, model, *pages)
        yield plain, model


def dictionaries(number: str, line: int, names: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The dictionaries that a code block of a document shows, evaluated."""
    [code] = [one.code for one in code_blocks(number) if one.line == line]
    tree = ast.parse(code)
    return [
        eval(compile(ast.Expression(node.value), "<document>", "eval"), dict(names))  # noqa: S307
        for node in tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Dict)
    ]
