"""Which document a file name means."""

import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.retrieval.names import NameMatch, match_names, mentions

NAMES = (
    "contracts/a.md",
    "old/a.md",
    "Story.txt",
    "Chapter 1.txt",
    "chapter10.txt",
    "reports/Annual Report 2023.pdf",
    "Résumé.docx",
)


def found(wanted: str, *names: str) -> tuple[str, str]:
    match = match_names(wanted, names or NAMES)
    assert match.result == "found", match
    return match.names[0], match.how


@pytest.mark.parametrize(
    ("wanted", "name", "how"),
    [
        ("Story.txt", "Story.txt", "exact"),
        ("contracts/a.md", "contracts/a.md", "exact"),
        ("STORY.TXT", "Story.txt", "case"),
        ("contracts\\A.md", "contracts/a.md", "case"),
        ("./Story.txt", "Story.txt", "case"),
        (normalize("NFD", "RÉSUMÉ.docx"), "Résumé.docx", "case"),
        ("annual report 2023.pdf", "reports/Annual Report 2023.pdf", "partial"),
        ("/home/me/contracts/a.md", "contracts/a.md", "partial"),
        ("story", "Story.txt", "partial"),
        ("old/a", "old/a.md", "partial"),
        ("Annual Report 2023", "reports/Annual Report 2023.pdf", "partial"),
        ("annual-report_2023.pdf", "reports/Annual Report 2023.pdf", "partial"),
        ("chapter1", "Chapter 1.txt", "partial"),
        ("annual", "reports/Annual Report 2023.pdf", "partial"),
    ],
)
def test_a_name_is_found(wanted: str, name: str, how: str) -> None:
    assert found(wanted) == (name, how)


def test_the_exact_name_wins_over_others_that_differ_in_case() -> None:
    assert found("a.md", "A.md", "a.md", "x/a.md") == ("a.md", "exact")


def test_several_candidates_are_all_named_and_none_is_guessed() -> None:
    assert match_names("a.md", NAMES) == NameMatch(
        "a.md", "several", ("contracts/a.md", "old/a.md"), "partial"
    )
    assert match_names("A.MD", ["a.md", "a.Md"]).result == "several"
    assert match_names("chapter", NAMES).names == ("Chapter 1.txt", "chapter10.txt")


def test_another_extension_is_another_document() -> None:
    match = match_names("story.pdf", NAMES)
    assert (match.result, match.names, match.how) == ("none", ("Story.txt",), "near")


@pytest.mark.parametrize("wanted", ["sotry.txt", "Storry.txt", "stori.txt"])
def test_a_mistyped_name_is_not_found_but_the_nearest_is_suggested(wanted: str) -> None:
    match = match_names(wanted, NAMES)
    assert match.result == "none"
    assert match.names[0] == "Story.txt"


def test_what_is_near_nothing_suggests_nothing() -> None:
    assert match_names("zebra-42", NAMES).names == ()
    assert match_names("a.md", []).names == ()


@pytest.mark.parametrize("wanted", ["", " ", "/", ".", "..", "x" * 5000])
def test_what_is_no_name_finds_nothing(wanted: str) -> None:
    assert match_names(wanted, ["a.md", "b"]) == NameMatch(wanted, "none")


def test_equal_names_count_once() -> None:
    assert found("a.md", "a.md", "a.md") == ("a.md", "exact")


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=8))
def test_any_name_gets_an_answer_of_known_names(wanted: str, names: list[str]) -> None:
    match = match_names(wanted, names)
    assert set(match.names) <= set(names)
    assert (match.result == "found") <= (len(match.names) == 1)
    assert (match.result == "several") <= (len(match.names) > 1)
    assert match == match_names(wanted, names)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=8))
def test_every_known_name_is_found_by_itself(names: list[str]) -> None:
    for name in names:
        assert match_names(name, names) == NameMatch(name, "found", (name,), "exact")


def test_a_hundred_thousand_names_are_searched_in_seconds() -> None:
    names = [f"folder {at % 100}/document number {at}.pdf" for at in range(100_000)]
    started = time.process_time()
    match = match_names("documnet number 555.pdf", names)
    assert match.names[0] == "folder 55/document number 555.pdf"
    assert time.process_time() - started < 10


PATHS = [
    *("report.pdf", "annual report.pdf", "a/plan.md", "b/plan.md", "Über uns.pdf", "notes"),
    *("报告.txt", "告.txt", "レポート.txt"),
]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What does report.pdf say?", {"report.pdf": ["report.pdf"]}),
        ("In 'REPORT.PDF'?", {"REPORT.PDF": ["report.pdf"]}),
        ("The annual report.pdf says?", {"annual report.pdf": ["annual report.pdf"]}),
        ("What is in plan.md.", {"plan.md": ["a/plan.md", "b/plan.md"]}),
        (
            "What is in a\\plan.md and report.pdf?",
            {"a\\plan.md": ["a/plan.md"], "report.pdf": ["report.pdf"]},
        ),
        ("u\u0308ber uns.pdf?", {"u\u0308ber uns.pdf": ["Über uns.pdf"]}),
        ("What do my notes say?", {}),
        ("报告.txt说了什么?", {"报告.txt": ["报告.txt"]}),
        ("请总结报告.txt的内容", {"报告.txt": ["报告.txt"]}),
        ("请看report.pdf说了什么", {"report.pdf": ["report.pdf"]}),
        ("レポート.txtについて、もう少し詳しく教えてください", {"レポート.txt": ["レポート.txt"]}),
        ("报告.txts 报告.txt-2 report.txt", {}),
        ("https://example.org/report.pdf or myreport.pdf, report.pdf.bak, report.pdfs", {}),
    ],
)
def test_file_names_are_found_in_a_question(question: str, found: dict[str, list[str]]) -> None:
    assert {one.text: list(one.paths) for one in mentions(question, PATHS)} == found


@given(st.text(max_size=80) | st.text("report.pdf an\u0308/ '", max_size=40))
def test_a_mention_stands_in_the_question(question: str) -> None:
    for one in mentions(question, PATHS):
        assert one.text in question
        assert set(one.paths) <= set(PATHS)


def test_of_names_that_differ_in_case_the_one_that_is_written_so_is_meant() -> None:
    assert match_names("a.md", ["x/A.md", "x/a.md"]).names == ("x/a.md",)
    assert match_names("A.MD", ["x/A.md", "x/a.md"]).result == "several"
