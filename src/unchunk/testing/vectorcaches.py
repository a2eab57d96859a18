"""What every cache of vectors must do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from typing import TypeVar

import numpy as np

from unchunk.ports import Catalog, VectorCache, Vectors
from unchunk.testing.catalogs import drafted

C = TypeVar("C", bound="VectorCacheContract")


def on_a_cache(
    scene: Callable[[C, Catalog, VectorCache], Coroutine[None, None, None]],
) -> Callable[[C], None]:
    """The scene as a test, with a fresh cache and the catalog of its documents."""

    async def play(suite: C) -> None:
        async with suite.opened() as (catalog, cache):
            await scene(suite, catalog, cache)

    def test(self: C) -> None:
        asyncio.run(play(self))

    test.__name__ = scene.__name__
    return test


def vectors_of(*names: str, dimensions: int = 8) -> dict[bytes, Vectors]:
    """One vector for each name, always the same."""
    found: dict[bytes, Vectors] = {}
    for name in names:
        digest = sha256(name.encode()).digest()
        numbers = np.random.default_rng(list(digest))
        found[digest] = numbers.standard_normal(dimensions).astype(np.float32)
    return found


def same(found: dict[bytes, Vectors], expected: dict[bytes, Vectors]) -> bool:
    return found.keys() == expected.keys() and all(
        vector.dtype == np.float32 and np.array_equal(vector, expected[digest])
        for digest, vector in found.items()
    )


class VectorCacheContract:
    """Subclass it as `Test...`, and say how a cache is opened."""

    def opened(self) -> AbstractAsyncContextManager[tuple[Catalog, VectorCache]]:
        """An empty cache, and the catalog whose documents it knows."""
        raise NotImplementedError

    @on_a_cache
    async def test_what_was_kept_is_recalled_bit_for_bit(
        self, catalog: Catalog, cache: VectorCache
    ) -> None:
        document = (await drafted(catalog, "a", "text")).document
        found = vectors_of(*map(str, range(1500)))
        await cache.keep("me", "e", document, found)
        assert same(await cache.recall("me", "e", list(found)), found)
        some = dict(list(found.items())[10:20])
        assert same(await cache.recall("me", "e", [*some, *vectors_of("unknown")]), some)
        assert await cache.count() == await cache.count(document) == 1500

    @on_a_cache
    async def test_nothing_is_recalled_or_kept_of_nothing(
        self, catalog: Catalog, cache: VectorCache
    ) -> None:
        document = (await drafted(catalog, "a", "text")).document
        await cache.keep("me", "e", document, {})
        assert await cache.recall("me", "e", []) == {}
        assert await cache.count() == 0

    @on_a_cache
    async def test_owners_and_embedders_are_apart(
        self, catalog: Catalog, cache: VectorCache
    ) -> None:
        mine = (await drafted(catalog, "a", "text")).document
        yours = (await drafted(catalog, "a", "text", "you")).document
        (digest,) = vectors_of("same")
        of = {
            (owner, embedder): {digest: np.full(3, number, np.float32)}
            for number, (owner, embedder) in enumerate([("me", "e"), ("me", "f"), ("you", "e")])
        }
        for (owner, embedder), found in of.items():
            await cache.keep(owner, embedder, mine if owner == "me" else yours, found)
        for (owner, embedder), found in of.items():
            assert same(await cache.recall(owner, embedder, [digest]), found)
        assert await cache.recall("you", "f", [digest]) == {}

    @on_a_cache
    async def test_a_vector_belongs_to_the_document_that_first_brought_it(
        self, catalog: Catalog, cache: VectorCache
    ) -> None:
        first = (await drafted(catalog, "a", "text")).document
        second = (await drafted(catalog, "b", "text")).document
        (digest,) = vectors_of("shared")
        brought = {digest: np.ones(4, np.float32)}
        await cache.keep("me", "e", first, brought)
        await cache.keep("me", "e", second, {digest: np.zeros(4, np.float32), **vectors_of("own")})
        assert same(await cache.recall("me", "e", [digest]), brought)
        assert (await cache.count(first), await cache.count(second)) == (1, 1)
        await cache.drop(second)
        assert same(await cache.recall("me", "e", [digest]), brought)
        await cache.drop(first)
        assert await cache.recall("me", "e", [digest]) == {}
        await cache.drop(first)
        assert await cache.count() == 0

    @on_a_cache
    async def test_nothing_is_kept_for_a_document_that_is_not_there(
        self, catalog: Catalog, cache: VectorCache
    ) -> None:
        document = (await drafted(catalog, "a", "text")).document
        await cache.keep("you", "e", document, vectors_of("one"))
        await catalog.bury("me", document)
        await cache.keep("me", "e", document, vectors_of("one"))
        assert await cache.count() == 0

    @on_a_cache
    async def test_many_may_keep_the_same_at_once(
        self, catalog: Catalog, cache: VectorCache
    ) -> None:
        drafts = [await drafted(catalog, str(n), "text") for n in range(8)]
        found = vectors_of(*map(str, range(100)))
        await asyncio.gather(*(cache.keep("me", "e", it.document, found) for it in drafts))
        assert await cache.count() == len(found)
        assert same(await cache.recall("me", "e", list(found)), found)
