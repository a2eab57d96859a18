"""Which questions are about all of a document, so that no passage of it can answer them."""

import pytest

from unchunk.retrieval.query import QueryAnalyzer, Turn

ANALYZER = QueryAnalyzer()
TALK = (
    Turn("user", "Who keeps the lamp of the lighthouse?"),
    Turn("assistant", "Marta Reyes keeps it.", (("lighthouse", 1),)),
)


def needs_all(question: str, history: tuple[Turn, ...] = (), names: tuple[str, ...] = ()) -> bool:
    return ANALYZER.needs_all(ANALYZER.analyze(question, history), names)


@pytest.mark.parametrize(
    "question",
    [
        "source:report.pdf",
        "source:a.md source:b.md",
        "Summarise source:report.pdf",
        "Please give me a short summary of the report. source:report.pdf",
        "What are the key points of source:report.pdf?",
        "What is source:report.pdf about?",
        "What does this paper say? source:report.pdf",
        "Sum up source:report.pdf in 200 words",
        "TL;DR source:report.pdf",
        "List every deadline in source:contract.pdf",
        "Explain all of source:report.pdf",
        "How does her view change throughout the story?",
        "Describe the evolution of the design over time",
        "What is the relationship between the two brothers? source:novel.txt",
        "Fasse source:bericht.pdf zusammen",
        "Résume source:rapport.pdf",
        "¿De qué trata source:informe.pdf?",
        "总结 source:报告.pdf",
    ],
)
def test_a_summary_and_what_is_said_of_the_whole_need_all_of_it(question: str) -> None:
    assert needs_all(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "When does the lease end?",
        "What are all the fees?",
        "Explain the fees",
        "What does source:report.pdf say about revenue?",
        "Summarise the chapter on fees in source:report.pdf",
        "Summarise the last section of source:report.pdf",
        "Explain the introduction of source:report.pdf",
        "What are the very first words of source:report.pdf?",
        "What happened in 1946? source:report.pdf",
        "Who are the nine members? source:report.pdf",
        "Is it open at all on Sundays? source:hours.md",
    ],
)
def test_what_stands_in_a_passage_does_not(question: str) -> None:
    assert not needs_all(question)


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("Tell me more about her", False),
        ("Can you elaborate on that?", False),
        ("Summarise it", True),
        ("Tell me everything about her", True),
    ],
)
def test_a_follow_up_needs_all_only_if_it_says_so(question: str, *, needs: bool) -> None:
    assert needs_all(question, TALK) is needs


REPORT = ("annual-report.md", "Annual Report 2023")


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("Summarise the annual report", True),
        ("Summarise the annual-report for 2023", True),
        ("What is the annual report about?", True),
        ("Tell me everything in the annual report", True),
        ("Explain the annual report", True),
        ("Explain the report", False),
        ("Summarise the novel", False),
        ("Explain all the fees in the annual report", False),
        ("Summarise the last section of the annual report", False),
    ],
)
def test_what_a_document_is_called_is_no_matter(question: str, *, needs: bool) -> None:
    assert needs_all(question, names=REPORT) is needs
    if "annual" in question:
        assert not needs_all(question, names=("novel.md", "Mara"))


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("Explain the laws", False),
        ("Summarise the laws", False),
        ("Summarise the history of the Roman Empire", True),
        ("Summarise the history", True),
    ],
)
def test_one_word_of_a_long_title_is_a_subject(question: str, *, needs: bool) -> None:
    names = ("history.md", "A history of the Roman Empire and its laws")
    assert needs_all(question, names=names) is needs
