"""Widening over all documents and hits is one batched call, on every engine."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gates import in_time
from homes import Home
from servers import qdrant
from sheets import coverage, prose, without_marks
from unchunk.engine import Engine
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.shelf import Where

FACT = "the keeper of the lighthouse owns seven zebra finches"
HITS = (3, 17, 30)
SIZE = 200
SMALL: dict[str, str | float] = {
    "chunk_size": SIZE,
    "chunk_overlap": 40,
    "chunk_boundaries": "window",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with qdrant(tmp_path_factory.mktemp("qdrant")) as one:
        yield one.url


@pytest.fixture(params=["edge", "qdrant", "chroma"])
def index(request: pytest.FixtureRequest) -> str:
    if request.param == "qdrant":
        return f"qdrant:{request.getfixturevalue('server')}"
    return str(request.param)


def text_of(number: int) -> str:
    """Some 37 chunks, three of which have the fact wholly in them."""
    stride = SIZE - 40
    text = prose(37 * stride, seed=number)
    for hit in HITS:
        at = hit * stride + 60
        said = f" {FACT}, says witness {number} {hit}. "
        text = text[:at] + said + text[at + len(said) :]
    return text


def count(patch: pytest.MonkeyPatch, engine: Engine) -> Counter[str]:
    """How often the parts are asked from now on."""
    calls: Counter[str] = Counter()

    def counted(where: object, method: str, name: str) -> None:
        real: Callable[..., Any] = getattr(where, method)

        async def call(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - the method's own
            calls[name] += 1
            return await real(*arguments, **options)

        patch.setattr(where, method, call)

    for method in ("search_many", "fetch", "census"):
        counted(engine._parts.spaces.active.index, method, f"index.{method}")
    for method in ("open", "text", "chunks", "get", "find"):
        counted(engine._parts.catalog, method, f"catalog.{method}")
    return calls


def add_all(home: Home) -> Path:
    for number in range(5):
        home.file(f"docs/{number}.txt", text_of(number))
    return home.files / "docs"


def test_one_call_opens_hits_and_neighbours_of_all_documents(
    home: Home, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = add_all(home)

    async def work(engine: Engine) -> None:
        await engine.add(docs)
        await engine.add(docs, folder="aside")
        await engine.add(docs, owner="somebody")
        texts = {f"{number}.txt": text_of(number) for number in range(5)}
        for where, owner in (
            (Where(folders=("",)), None),
            (Where(folders=("aside",)), None),
            (Where(), "somebody"),
            (Where(media_types=("text/",)), "somebody"),
        ):
            with monkeypatch.context() as patch:
                calls = count(patch, engine)
                found = await engine.search_with_context(
                    FACT, limit=5, min_score=0.4, where=where, owner=owner
                )
            fetches = calls.pop("index.fetch", 0)
            assert fetches <= 1
            assert calls == {"index.search_many": 1, "catalog.open": 1}
            assert {one.name for one in found} == set(texts)
            folders = {""} if where.folders is None else set(where.folders)
            assert {one.folder for one in found} == folders
            for one in found:
                text = texts[one.name]
                assert [hit.chunk_index for hit in one.chunks] == list(HITS)
                assert coverage(one) == [(at - 1, at + 1) for at in HITS]
                for passage in one.passages:
                    assert passage.text == text[passage.start : passage.end]
                assert without_marks(one) == "".join(text[p.start : p.end] for p in one.passages)

    home.run(in_time(work), index=index, **SMALL)


def test_a_question_with_all_its_extras_asks_a_fixed_number_of_times(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = add_all(home)

    async def work(engine: Engine) -> None:
        await engine.add(docs)
        numbers = []
        for limit in (1, 5):
            with monkeypatch.context() as patch:
                calls = count(patch, engine)
                amount = Amount(limit, also_see=False)
                evidence = await engine.retrieve(f"Explain: {FACT}", amount=amount)
            assert len(evidence.documents) == limit
            calls.pop("index.fetch", 0)
            numbers.append(calls)
        # One to open what was found, one for the full documents, one for weak hits at most.
        assert numbers[0]["index.search_many"] == numbers[1]["index.search_many"] == 1
        assert all(calls["catalog.open"] <= 3 for calls in numbers)
        assert all(set(calls) == {"index.search_many", "catalog.open"} for calls in numbers)

    home.run(in_time(work), **SMALL)
