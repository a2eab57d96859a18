"""Which documents a search is about: folders, names, media types, pages, dates, attributes."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from adapters.extract import making
from unchunk.errors import InvalidInputError
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.shelf import Where
from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_engine

QUESTION = "Who keeps the lighthouse?"
NOTHING = "no document is as the filters say"
EVERY = {"a.txt", "b.md", "c.pdf", "old.txt"}


def day(number: int) -> datetime:
    return datetime(2024, 1, number, 12, tzinfo=UTC)


SAID: dict[str, dict[str, object]] = {
    "a.txt": {"team": "red", "level": 1, "checked": True},
    "b.md": {"team": "red", "level": 2.0, "checked": 1},
    "c.pdf": {"team": "blue", "level": "1", "pages": "many", "tags": ["red"], "by": {"x": 1}},
}
CHANGED = {"a.txt": 1, "b.md": 2, "c.pdf": 3, "old.txt": 4}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("filters")
    (folder / "a.txt").write_text("Anna keeps the lighthouse of the north.")
    (folder / "old.txt").write_text("Olga kept the lighthouse long ago, and nobody keeps it now.")
    (folder / "b.md").write_text("# Keepers\n\nBerta keeps the lighthouse of the south.")
    pages = [
        f"On page {at} Cora keeps the lighthouse.\n" + f"Filling {at} stands here. " * 3
        for at in range(1, 9)
    ]
    (folder / "c.pdf").write_bytes(making.pdf(pages))
    settings = load(folder / "home", {}, embedder="hashing", chunk_size=130, chunk_overlap=0)
    engine = SynchronousEngine(lambda: open_engine(settings))
    engine.add(folder / "a.txt", folder / "b.md", folder="keepers")
    engine.add(folder / "c.pdf", folder="papers")
    engine.add(folder / "old.txt")
    engine.add(folder / "old.txt", owner="ann")
    describe(engine, "local", SAID)
    describe(engine, "ann", {"old.txt": {"team": "red", "level": 1}})
    engine.close()
    database = sqlite3.connect(folder / "home" / "catalog.sqlite")
    with database:
        for name, number in CHANGED.items():
            moment = int(day(number).timestamp()) * 1_000_000
            database.execute("UPDATE documents SET updated_at = ? WHERE name = ?", (moment, name))
    database.close()
    engine = SynchronousEngine(lambda: open_engine(settings))
    yield engine
    engine.close()


def describe(library: Any, owner: str, said: dict[str, dict[str, object]]) -> None:  # noqa: ANN401
    catalog = library._engine._parts.catalog
    for name, attributes in said.items():
        identity = library.document(name, owner=owner).id
        library._wait(partial(catalog.describe, owner, identity, attributes))


def found(library: Any, where: Where, question: str = QUESTION) -> set[str]:  # noqa: ANN401
    """What all ways of asking agree on."""
    names = {hit.name for hit in library.search(question, limit=100, where=where).hits}
    amount = Amount(min_score=-1.0)
    evidence = library.retrieve(question, where=where, amount=amount)
    assert {one.name for one in evidence.documents} == names
    assert {one.name for one in evidence.also_see} <= names
    documents = library.search_with_context(question, min_score=-1.0, where=where)
    assert {one.name for one in documents} == names
    return names


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Where(), EVERY),
        (Where(folders=("keepers",)), {"a.txt", "b.md"}),
        (Where(folders=("keepers", "papers")), {"a.txt", "b.md", "c.pdf"}),
        (Where(folders=("",)), {"old.txt"}),
        (Where(names=("a.txt", "c.pdf", "none.txt")), {"a.txt", "c.pdf"}),
        (Where(media_types=("text/plain",)), {"a.txt", "old.txt"}),
        (Where(media_types=("text/",)), {"a.txt", "b.md", "old.txt"}),
        (Where(media_types=("application/pdf", "text/markdown")), {"b.md", "c.pdf"}),
        (Where(since=day(3)), {"c.pdf", "old.txt"}),
        (Where(until=day(2)), {"a.txt", "b.md"}),
        (Where(since=day(2), until=day(3)), {"b.md", "c.pdf"}),
        (Where(since=day(2).astimezone(timezone(timedelta(hours=9)))), EVERY - {"a.txt"}),
        (Where(pages=(1, 8)), {"c.pdf"}),
        (Where(fields=(("team", "red"),)), {"a.txt", "b.md"}),
        (Where(fields=(("team", "red"), ("level", 1))), {"a.txt"}),
        (Where(fields=(("level", 2),)), {"b.md"}),
        (Where(fields=(("level", "1"),)), {"c.pdf"}),
        (Where(fields=(("checked", True),)), {"a.txt"}),
        (Where(fields=(("checked", 1),)), {"b.md"}),
        (Where(fields=(("pages", "many"),), pages=(1, 8)), {"c.pdf"}),
        (Where(fields=[("team", "blue")]), {"c.pdf"}),  # type: ignore[arg-type] # taken, too
        (Where(fields=(("team", "red"),), names=("b.md", "c.pdf")), {"b.md"}),
        (Where(fields=(("team", "red"),), since=day(2)), {"b.md"}),
        (Where(folders=("keepers",), media_types=("text/plain",)), {"a.txt"}),
        (Where(folders=("keepers",), names=("b.md", "c.pdf")), {"b.md"}),
        (Where(media_types=("text/",), since=day(2), folders=("", "keepers")), {"b.md", "old.txt"}),
    ],
)
def test_only_what_is_as_the_filters_say_is_found(
    library: Any,  # noqa: ANN401
    where: Where,
    expected: set[str],
) -> None:
    assert found(library, where) == expected


@pytest.mark.parametrize(
    "where",
    [
        Where(folders=("nowhere",)),
        Where(folders=()),
        Where(names=("none.txt",)),
        Where(names=()),
        Where(media_types=("image/",)),
        Where(media_types=("text",)),
        Where(since=day(5)),
        Where(until=day(1) - timedelta(microseconds=1)),
        Where(since=day(3), until=day(2)),
        Where(documents=()),
        Where(documents=("there is none",)),
        Where(fields=(("team", "green"),)),
        Where(fields=(("project", "red"),)),
        Where(fields=(("team", "red"), ("team", "blue"))),
        Where(fields=(("tags", "red"),)),
        Where(fields=(("team", "red"),), folders=("papers",)),
        Where(fields=(("team", "red"),), documents=()),
        Where(pages=(9, 12)),
        Where(folders=("keepers",), names=("c.pdf",)),
        Where(folders=("keepers",), pages=(1, 2)),
    ],
)
def test_where_nothing_is_as_the_filters_say_the_answer_says_so(
    library: Any,  # noqa: ANN401
    where: Where,
) -> None:
    for question in (QUESTION, f"Explain: {QUESTION}"):
        evidence = library.retrieve(question, where=where, amount=Amount(min_score=-1.0))
        assert evidence.documents == ()
        assert evidence.also_see == ()
        assert evidence.notes == (NOTHING,)
    told = library.search(QUESTION, where=where)
    assert (told.hits, told.notes) == ((), (NOTHING,))


def test_a_question_that_finds_nothing_within_the_filters_does_not_blame_them(
    library: Any,  # noqa: ANN401
) -> None:
    where = Where(folders=("keepers",))
    evidence = library.retrieve("zzzzq", where=where, amount=Amount(min_score=0.99))
    assert (evidence.documents, evidence.notes) == ((), ())


def test_only_the_pages_that_are_wanted_are_shown_neighbours_too(library: Any) -> None:  # noqa: ANN401
    for first, last in ((3, 3), (2, 5), (8, 8), (8, 99)):
        where = Where(pages=(first, last))
        for question in (QUESTION, f"Explain: {QUESTION}", f"{QUESTION} source:c.pdf"):
            amount = Amount(chunks_per_doc=None, min_score=-1.0)
            [one] = library.retrieve(question, where=where, amount=amount).documents
            shown = {p for it in one.passages for p in (it.first_page, it.last_page)}
            assert shown == {first, min(last, 8)}, (question, first, last)
            for page in range(1, 9):
                assert (f"On page {page} " in one.full_content) == (first <= page <= last)
    for hit in library.search(QUESTION, limit=100, where=Where(pages=(2, 3))).hits:
        assert hit.chunk.first_page in (2, 3)


@pytest.mark.parametrize(
    "where",
    [
        Where(folders=("papers",)),
        Where(names=("old.txt",)),
        Where(media_types=("application/pdf",)),
        Where(since=day(3)),
        Where(pages=(1, 3)),
        Where(fields=(("team", "blue"),)),
        Where(fields=(("checked", 1),)),
    ],
)
def test_a_source_tag_does_not_lead_out_of_the_filters(library: Any, where: Where) -> None:  # noqa: ANN401
    for question in (f"{QUESTION} source:a.txt", "source:a.txt"):
        evidence = library.retrieve(question, where=where)
        assert evidence.documents == ()
        assert "nothing in keepers/a.txt matches the filters" in evidence.notes


def test_a_source_tag_does_not_lead_out_of_the_documents_that_may_be_searched(
    library: Any,  # noqa: ANN401
) -> None:
    only = Where(documents=(library.document("old.txt").id,))
    assert library.retrieve(f"{QUESTION} source:a.txt", where=only).documents == ()
    [one] = library.retrieve(f"{QUESTION} source:old.txt", where=only).documents
    assert one.name == "old.txt"
    [one] = library.retrieve(f"{QUESTION} source:old.txt source:a.txt", where=only).documents
    assert one.name == "old.txt"


def test_attributes_are_each_owners_own(library: Any) -> None:  # noqa: ANN401
    where = Where(fields=(("team", "red"), ("level", 1)))
    for owner, names in (("local", ["a.txt"]), ("ann", ["old.txt"]), ("eve", [])):
        hits = library.search(QUESTION, where=where, owner=owner).hits
        assert [hit.name for hit in hits] == names
        documents = library.search_with_context(QUESTION, where=where, owner=owner, min_score=-1.0)
        assert [one.name for one in documents] == names


def test_what_is_no_single_value_cannot_be_searched_for(library: Any) -> None:  # noqa: ANN401
    values: list[Any] = [None, ("red",), float("nan")]
    for value in values:
        for ask in (library.search, library.retrieve, library.search_with_context):
            with pytest.raises(InvalidInputError):
                ask(QUESTION, where=Where(fields=(("team", value),)))


def test_documents_show_what_is_said_of_them_but_it_never_hides_what_is_known(
    library: Any,  # noqa: ANN401
) -> None:
    documents = library.search_with_context(QUESTION, min_score=-1.0)
    metadata = {one.name: dict(one.metadata) for one in documents}
    known = ["pages", "updated_at", "checksum"]
    assert list(metadata["a.txt"]) == [*known, "team", "level", "checked"]
    assert metadata["a.txt"]["checked"] is True
    assert metadata["c.pdf"].items() >= {"pages": 8, "team": "blue", "level": "1"}.items()
    assert list(metadata["c.pdf"]) == [*known, "team", "level"]
    assert list(metadata["old.txt"]) == known


def test_what_is_said_from_now_on_is_found_by_it_from_now_on(library: Any) -> None:  # noqa: ANN401
    where = Where(fields=(("team", "green"),))
    amount = Amount(min_score=-1.0)
    assert found(library, where) == set()
    describe(library, "local", {"old.txt": {"team": "green"}})
    assert found(library, where) == {"old.txt"}
    [one] = library.retrieve(QUESTION, where=where, amount=amount).documents
    assert one.metadata["team"] == "green"
    describe(library, "local", {"old.txt": {}})
    assert found(library, where) == set()


def test_filters_that_differ_in_true_and_one_are_two() -> None:
    true, one, also_one = (Where(fields=(("a", it),)) for it in (True, 1, 1))
    assert len({true, one, also_one}) == 2
    assert replace(true, names=("a",)) != replace(one, names=("a",))
    assert replace(one, fields=true.fields) == true
