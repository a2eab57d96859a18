"""Words that a line break has cut."""

import pytest

from unchunk.adapters.extract.hyphens import MARK, rejoin


@pytest.mark.parametrize(
    ("elsewhere", "cut", "whole"),
    [
        ("an international matter", "inter|national", "international"),
        ("a long-term plan", "long|term", "long-term"),
        ("", "dis|placed", "displaced"),
        ("middle of any income", "middle|income", "middle-income"),
        ("co-operate and be sourced", "co|sourced", "co-sourced"),
        ("", "COVID|19", "COVID-19"),
        ("", "Anti|Terrorism", "Anti-Terrorism"),
        ("", "19|fold", "19-fold"),
        ("", "end|", "end"),
        ("", "a | b", "a  b"),
    ],
)
def test_the_document_knows_whether_a_hyphen_belongs(elsewhere: str, cut: str, whole: str) -> None:
    assert rejoin([elsewhere, cut.replace("|", MARK)]) == [elsewhere, whole]


def test_pages_without_cuts_are_not_touched() -> None:
    pages = ["one-two", "three"]
    assert rejoin(pages) is pages
