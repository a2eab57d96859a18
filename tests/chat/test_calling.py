"""Other names than the library's, throughout the evidence of an answer."""

import asyncio
from collections.abc import Sequence

from unchunk.chat.calling import called
from unchunk.domain import DocumentId
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.query import QueryPlan
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.selection import Omission


def document(name: str, title: str) -> ReconstructedDocument:
    return ReconstructedDocument(name, f"{name} (2).txt", "", title, "text/plain", 1, (), (), "")


def test_all_that_is_named_has_the_other_name_and_titles_stay() -> None:
    plan = QueryPlan("What?", "What?", "passages")
    documents = (document("a", "a (2).txt"), document("b", "A title"), document("c", "c (2).txt"))
    left = Omission("a", "a (2).txt", (), None, "no room")
    asked: list[Sequence[DocumentId]] = []

    async def retrieve(question: str, *, owner: str) -> Evidence:
        assert (question, owner) == ("What?", "anna")
        return Evidence(plan, documents, omitted=(left,))

    async def names(wanted: Sequence[DocumentId]) -> dict[DocumentId, str]:
        asked.append(wanted)
        return {"a": "a.txt", "b": "b.txt"}

    found = asyncio.run(called(retrieve, names)("What?", owner="anna"))
    told = [(one.name, one.title) for one in found.documents]
    assert told == [("a.txt", "a.txt"), ("b.txt", "A title"), ("c (2).txt", "c (2).txt")]
    assert [one.name for one in found.omitted] == ["a.txt"]
    # Once, for each that there is.
    assert asked == [["a", "b", "c"]]
