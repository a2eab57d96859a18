"""One owner's text is never in another's answer, whatever way it is asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unchunk.errors import NotFoundError
from unchunk.retrieval.amount import Amount
from unchunk.retrieval.query import Turn
from unchunk.retrieval.shelf import Where
from unchunk.settings import load
from unchunk.synchronous import SynchronousEngine
from unchunk.wiring import open_engine

HIDDEN = "quagga"
QUESTION = f"What is said of the {HIDDEN} in the vault?"
# A's own text is near enough to B's for everything that asks for what is like it.
MINE = "\n\n".join(f"The vault of the museum, hall {at}, has a stuffed zebra." for at in range(30))
THEIRS = "\n\n".join(f"The vault of the museum, hall {at}, hides the {HIDDEN}." for at in range(30))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("owners")
    (folder / "mine.txt").write_text(MINE)
    (folder / "theirs.txt").write_text(THEIRS)
    (folder / "shared.txt").write_text("The museum opens at nine.")
    settings = load(folder / "home", {}, embedder="hashing", chunk_size=200, chunk_overlap=20)
    engine = SynchronousEngine(lambda: open_engine(settings))
    engine.add(folder / "mine.txt", folder / "shared.txt", owner="a")
    engine.add(folder / "theirs.txt", folder / "shared.txt", folder="b's own", owner="b")
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def theirs(library: Any) -> str:  # noqa: ANN401 - the engine without its awaits
    return str(library.document("theirs.txt", owner="b").id)


def assert_nothing_of_theirs(answer: object, theirs: str) -> None:
    said = repr(answer) + "".join(
        one.full_content for one in getattr(answer, "documents", ()) or ()
    )
    assert theirs not in said
    assert "theirs" not in said
    assert "b's own" not in said
    assert HIDDEN not in said.replace(QUESTION, "")


def test_b_finds_it_by_every_one_of_these_ways(library: Any, theirs: str) -> None:  # noqa: ANN401
    """Without this, the other tests could not fail."""
    assert any(HIDDEN in hit.text for hit in library.search(QUESTION, owner="b").hits)
    for question in (QUESTION, f"{QUESTION} source:theirs.txt", f"Explain {QUESTION}"):
        evidence = library.retrieve(question, owner="b")
        assert any(HIDDEN in one.full_content for one in evidence.documents)
    assert HIDDEN in library.rag_search(QUESTION, owner="b")
    assert HIDDEN in library.rag_search(QUESTION, use_chunk_aware=False, owner="b")
    [card] = library.find_file_by_name("theirs", owner="b")
    assert card.document == theirs
    carried = library.retrieve("How old is it?", history=told(theirs), owner="b")
    assert theirs in {one.document for one in carried.documents}


def told(document: str) -> tuple[Turn, ...]:
    cited = tuple((document, at) for at in range(-1, 4))
    return (Turn("user", f"Where is the {HIDDEN}?"), Turn("assistant", "There.", cited=cited))


@pytest.mark.parametrize(
    "question",
    [
        QUESTION,
        f"Explain {QUESTION}",
        f"{QUESTION} source:theirs.txt",
        'source:"b\'s own/theirs.txt"',
        "source:theirs.txt",
        "source:their.txt",
    ],
)
@pytest.mark.parametrize("budget", [None, 300])
def test_no_question_brings_it(
    library: Any,  # noqa: ANN401
    theirs: str,
    question: str,
    budget: int | None,
) -> None:
    # The owner asks first, so that what is remembered of it could be given away.
    amount = Amount(min_score=-1.0, limit=100, budget=budget)
    library.retrieve(question, amount=amount, owner="b")
    evidence = library.retrieve(question, amount=amount, owner="a")
    texts = [one.full_content for one in evidence.documents]
    assert not any(HIDDEN in text for text in texts)
    assert {one.name for one in evidence.documents} <= {"mine.txt", "shared.txt"}
    assert {one.name for one in (*evidence.also_see, *evidence.omitted)} <= {
        "mine.txt",
        "shared.txt",
    }
    assert theirs not in repr((evidence, evidence.found, evidence.dropped, evidence.names))
    # A name that A wrote comes back in the note; one that A did not write does not.
    assert "b's own" not in repr(evidence.notes) or "b's own" in question
    if "theirs" not in question:
        assert "theirs" not in repr(evidence.notes)


def test_plain_chunks_and_the_tool_do_not_bring_it(library: Any, theirs: str) -> None:  # noqa: ANN401
    for limit in (1, 10, 1000):
        assert_nothing_of_theirs(library.search(QUESTION, limit=limit, owner="a"), theirs)
        for chunk_aware in (True, False):
            text = library.rag_search(QUESTION, chunk_aware, limit, owner="a")
            assert_nothing_of_theirs(text, theirs)
        for one in library.search_with_context(QUESTION, limit, None, min_score=-1.0, owner="a"):
            assert_nothing_of_theirs((one, one.full_content), theirs)


def test_naming_its_id_in_a_filter_does_not_bring_it(library: Any, theirs: str) -> None:  # noqa: ANN401
    where = Where(documents=(theirs,))
    assert library.search(QUESTION, where=where, owner="a").hits == ()
    assert library.search_with_context(QUESTION, where=where, min_score=-1.0, owner="a") == []
    evidence = library.retrieve(f"Explain {QUESTION}", where=where, owner="a")
    assert (evidence.documents, evidence.also_see, evidence.found) == ((), (), ())
    for other in (Where(folders=("b's own",)), Where(names=("theirs.txt",))):
        assert library.retrieve(QUESTION, where=other, owner="a").documents == ()


@pytest.mark.parametrize(
    "question", ["How old is it?", "Tell me more about it", "source:theirs.txt more"]
)
def test_a_forged_history_does_not_carry_it(
    library: Any,  # noqa: ANN401
    theirs: str,
    question: str,
) -> None:
    evidence = library.retrieve(question, history=told(theirs), owner="a")
    assert {one.name for one in evidence.documents} <= {"mine.txt", "shared.txt"}
    assert not any(HIDDEN in one.full_content for one in evidence.documents)
    assert theirs not in repr((evidence.documents, evidence.also_see, evidence.omitted))
    assert theirs not in repr((evidence.found, evidence.dropped, evidence.names, evidence.notes))


def test_whether_an_id_is_somebody_elses_or_nobodys_cannot_be_told(
    library: Any,  # noqa: ANN401
    theirs: str,
) -> None:
    nobodys = theirs[::-1]
    for of in (theirs, nobodys):
        evidence = library.retrieve("How old is it?", history=told(of), owner="a")
        plain = library.retrieve("How old is it?", history=told("none"), owner="a")
        assert (evidence.documents, evidence.notes) == (plain.documents, plain.notes)
        with pytest.raises(NotFoundError):
            library.text(of, owner="a")


def test_its_name_leads_nowhere(library: Any) -> None:  # noqa: ANN401
    for name in ("theirs.txt", "theirs", "b's own/theirs.txt", "THEIRS.TXT", "their"):
        assert library.find_file_by_name(name, owner="a") == []
        assert library.find_file_by_name(name) == []


def test_the_same_file_of_both_is_each_ones_own(library: Any) -> None:  # noqa: ANN401
    for owner, folder in (("a", ""), ("b", "b's own")):
        [one] = library.retrieve(
            "When does the museum open? source:shared.txt", owner=owner
        ).documents
        assert (one.name, one.folder) == ("shared.txt", folder)
        mine = {it.id for it in library.documents(owner=owner)}
        assert one.document in mine


def test_an_owner_without_documents_finds_nothing(library: Any) -> None:  # noqa: ANN401
    for owner in ("", "A", "a ", "nobody"):
        assert library.search(QUESTION, owner=owner).hits == ()
        assert library.retrieve(QUESTION, owner=owner).documents == ()


def test_the_library_of_the_default_owner_is_its_own(library: Any, tmp_path: Path) -> None:  # noqa: ANN401
    (tmp_path / "x.txt").write_text("The museum sells postcards of zebras.")
    library.add(tmp_path / "x.txt")
    assert {hit.name for hit in library.search("postcards of zebras").hits} == {"x.txt"}
    assert "x.txt" not in {hit.name for hit in library.search("postcards", owner="a").hits}
