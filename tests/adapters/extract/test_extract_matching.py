"""Characters of a page and of its text find each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unchunk.adapters.extract import matching
from unchunk.adapters.extract.composing import cleaned
from unchunk.adapters.extract.matching import matched


def pairs(drawn: str, text: str) -> list[tuple[str, str]]:
    return [(text[at], drawn[it]) for at, it in sorted(matched(drawn, text).items())]


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        ("One two\r\nthree", "One two\nthree"),
        ("exam\ufffeple and well\ufffeknown", "example and well-known"),
        ("\x02soft\u00ad hy phen", "softhyphen"),
        ("  spaced   out ", "spacedout"),
        ("𝕎ide e\u0301", "𝕎ide e\u0301"),
        ("", ""),
        ("---", "-"),
    ],
)
def test_what_differs_in_white_space_and_hyphens_is_the_same(drawn: str, text: str) -> None:
    found = pairs(drawn, text)
    assert all(one == other for one, other in found)
    shown = [one for one in text if not one.isspace() and one != "-"]
    assert [one for one, _ in found] == shown


@given(st.text(max_size=60))
def test_a_text_matches_the_page_that_it_was_made_from(drawn: str) -> None:
    text = cleaned(drawn).strip()
    found = pairs(drawn, text)
    assert all(one == other for one, other in found)
    assert len(found) == sum(not one.isspace() and one not in "-\u2010" for one in text)


@given(st.text("ab c", max_size=30), st.text("ab c", max_size=30))
def test_only_what_is_alike_is_matched_each_once_and_in_order(drawn: str, text: str) -> None:
    found = matched(drawn, text)
    assert all(text[at] == drawn[it] for at, it in found.items())
    where = [found[at] for at in sorted(found)]
    assert where == sorted(set(where))


def test_around_a_difference_the_rest_is_matched() -> None:
    drawn = "The first words. Some fi gures here: 12 13. The last words."
    text = "The first words. Some ﬁ other here: 12 13. The last words."
    found = matched(drawn, text)
    for word in ("first", "here:", "12", "13.", "last"):
        at, it = text.index(word), drawn.index(word)
        assert [found.get(at + n) for n in range(len(word))] == list(range(it, it + len(word)))
    assert text.index("other") not in found


def test_pages_that_have_nothing_in_common_are_not_compared_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matching, "_MOST_WORDS", 3)
    assert matched("one two three four five", "six seven eight nine three ten") == {}
