"""The windows of a text, found without making them, are the windows that are made."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

import corpus
from unchunk.text.token_windows import TokenWindows, token_windows
from unchunk.text.tokens import get_encoding

ENCODING = get_encoding("cl100k_base")
PIECES = [*"aZ9. \n漢한é\x00", "word ", "🏴‍☠️", "𐍈", "e\u0301", "👨‍👩‍👧‍👦", "x1 "]
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=120).map("".join)
sizes = st.integers(1, 40).flatmap(lambda it: st.tuples(st.just(it), st.integers(0, it - 1)))


def shown(text: str, windows: TokenWindows) -> list[str]:
    every = range(len(windows))
    return [windows.show(at, text[slice(*windows.span(at))]) for at in every]


@settings(max_examples=300, deadline=None)
@given(texts, sizes)
@example("", (5, 2))
@example("𐍈𐍈𐍈𐍈", (1, 0))
@example("🏴‍☠️" * 9, (3, 2))
def test_each_window_is_shown_as_it_is_cut(text: str, size: tuple[int, int]) -> None:
    assert shown(text, token_windows(ENCODING, text, *size)) == [*ENCODING.windows(text, *size)]


def test_windows_are_exact_over_many_blocks() -> None:
    # More than a block of a million characters, with characters of several tokens at the seams.
    text = "".join(f"line {at} 🏴‍☠️ 漢字 the end\n" for at in range(60_000))
    assert len(text) > 1 << 20
    windows = token_windows(ENCODING, text, 800, 400)
    assert windows.cut_begins
    assert windows.cut_ends
    assert shown(text, windows) == list(ENCODING.windows(text, 800, 400))


def test_windows_of_hard_texts_are_exact() -> None:
    for _, text in corpus.generated()[:17]:
        for size, overlap in ((800, 400), (100, 50), (101, 0)):
            windows = token_windows(ENCODING, text, size, overlap)
            assert shown(text, windows) == list(ENCODING.windows(text, size, overlap))


@settings(max_examples=200, deadline=None)
@given(texts.filter(bool), sizes, st.data())
def test_the_windows_that_touch_a_span_are_those_that_hold_some_of_it(
    text: str, size: tuple[int, int], data: st.DataObject
) -> None:
    windows = token_windows(ENCODING, text, *size)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    touching = set(windows.touching(start, end))
    for at, (begin, stop) in enumerate(zip(windows.begins, windows.ends, strict=True)):
        if begin < stop:  # one that is inside a character holds none
            assert (at in touching) == (max(begin, start) < min(stop, end))


def test_no_window_touches_what_is_behind_the_text() -> None:
    assert not token_windows(ENCODING, "word " * 100, 20, 10).touching(10_000, 10_001)
