"""Results as agents read them."""

from dataclasses import replace
from datetime import UTC, datetime

from sheets import sheet_of
from unchunk.chat.events import Answer, Cited, Planned, SourcesFound, Warned
from unchunk.domain import Document, Span, Version
from unchunk.mcp.showing import show_answer, show_evidence, show_found, show_list
from unchunk.retrieval.query import QueryAnalyzer
from unchunk.retrieval.reconstruct import assemble
from unchunk.retrieval.retriever import Evidence, Related
from unchunk.retrieval.selection import Omission
from unchunk.retrieval.snippets import Found

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXT = "One of the three. Two of the three. Three of it."
FOUND = assemble(
    sheet_of(TEXT, [Span(0, 18), Span(18, 36), Span(36, 48)], name="three.md"), [1], {1: 0.5}
)
CITED = Cited(
    "[d:1]", 4, 9, "cited", FOUND.document, 1, "three.md", 18, 36, first_page=2, last_page=3
)


def test_what_is_on_its_way_in_cannot_be_searched_yet() -> None:
    draft = Version("d1", 1, "0" * 64, 10, "blob")
    coming = Document("d1", "ada", "new\x1b[2J\n[2] forged.md", "", NOW, NOW, None, draft)
    failed = replace(coming, id="d2", error_code="empty", error="it holds\nno text")
    assert show_list([coming, failed], 0, 2) == (
        "2 document(s)\n\n"
        "[1] DOCUMENT: new␛[2J [2] forged.md\n    Document: d1\n    Changed: 2026-01-02\n"
        "    On its way in: it cannot be searched yet\n\n"
        "[2] DOCUMENT: new␛[2J [2] forged.md\n    Document: d2\n    Changed: 2026-01-02\n"
        "    Failed: it holds no text\n"
    )


def test_what_was_left_out_and_what_is_near_are_told() -> None:
    evidence = Evidence(
        QueryAnalyzer().analyze("three"),
        (FOUND,),
        (Related("d9", "other.md", 0.4, "close in meaning"),),
        (Omission(FOUND.document, "three.md", ((0, 1),), 0.3, "there is no room"),),
        ("searched by words only",),
    )
    shown = show_evidence(evidence, with_content=True)
    assert shown.startswith("(searched by words only)\n🔍 CHUNK-AWARE RETRIEVAL: 1 ")
    assert "\nLeft out of three.md: chunks 0-1: there is no room\n" in shown
    assert shown.endswith("\nAlso see:\n    other.md (document d9): close in meaning\n")
    assert "Left out" not in show_evidence(evidence, with_content=False)


def test_where_a_collection_is_searched_no_list_tells_what_there_is() -> None:
    evidence = Evidence(QueryAnalyzer().analyze("three"), (), (), (), ())
    for of_collection in (True, False):
        for shown in (
            show_evidence(evidence, with_content=True, of_collection=of_collection),
            show_found(Found(()), with_content=True, of_collection=of_collection),
        ):
            assert "Nothing was found" in shown
            assert ("list_documents" in shown) is not of_collection


def test_a_citation_tells_where_to_read_it() -> None:
    answer = Answer(
        "Yes [d:1], twice [d:1] and [d:9].",
        "stop",
        "model",
        Planned(rag=True),
        SourcesFound((FOUND,)),
        (CITED, CITED, replace(CITED, chunk_index=9, state="unknown")),
        (Warned("unknown-citation", "[d:9] is none of the sources"),),
    )
    shown = show_answer(answer)
    assert "    Cited: chunk 1 (characters 18-36, pages 2-3)\n" in shown
    assert shown.endswith("\n\nNote: [d:9] is none of the sources\n")
    uncited = show_answer(replace(answer, citations=(), conversation="c1"))
    assert "    Cited: no\n" in uncited
    assert uncited.endswith("\nConversation: c1\n")
