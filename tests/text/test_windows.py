"""Plain windows begin at the clock, and return to it behind what they must not cut."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unchunk.domain import ChunkingStrategy, Span, Unit
from unchunk.text.tokens import get_encoding
from unchunk.text.windows import windows

# No deadline: the first example that counts tokens loads their encoding.
MANY = settings(max_examples=400, deadline=None)


def strategies(unit: Unit) -> st.SearchStrategy[ChunkingStrategy]:
    return st.integers(1, 12).flatmap(
        lambda size: st.builds(
            ChunkingStrategy, st.just(unit), st.just(size), st.integers(0, size - 1)
        )
    )


@given(st.text(st.characters(codec="ascii", exclude_characters="\r")), strategies("chars"))
@MANY
def test_windows_of_characters_begin_at_the_clock(text: str, strategy: ChunkingStrategy) -> None:
    spans = windows(text, strategy)
    for index, span in enumerate(spans):
        assert span.start == index * strategy.stride
        assert span.of(text) == text[span.start : span.start + strategy.size]
    assert all(span.end < len(text) for span in spans[:-1])


@given(st.text(alphabet=" \n\tab—"), strategies("words"))
@MANY
def test_windows_of_words_begin_at_the_clock(text: str, strategy: ChunkingStrategy) -> None:
    words = text.split()
    spans = windows(text, strategy)
    for index, span in enumerate(spans):
        first = index * strategy.stride
        assert span.of(text).split() == words[first : first + strategy.size]
        assert index == 0 or not span.of(text)[0].isspace()
    if words:
        reached = [
            index * strategy.stride + strategy.size >= len(words) for index in range(len(spans))
        ]
        assert reached == [False] * (len(spans) - 1) + [True]


@given(st.text(alphabet=" \nabc.,1—é"), strategies("tokens"))
@MANY
def test_windows_of_tokens_begin_at_the_clock(text: str, strategy: ChunkingStrategy) -> None:
    bounds = get_encoding(strategy.encoding).bounds(text)
    assume(len(set(bounds)) == len(bounds))
    spans = windows(text, strategy)
    assert [span.start for span in spans] == [
        bounds[index * strategy.stride] for index in range(len(spans))
    ]
    assert [span.end for span in spans[:-1]] == [
        bounds[index * strategy.stride + strategy.size] for index in range(len(spans) - 1)
    ]


def test_windows_return_to_the_clock_behind_a_cluster_that_was_in_the_way() -> None:
    text = "0123456" + "👨‍👩‍👧‍👦" + "abcdefghijklmnopqrstuvwxyz"
    starts = [span.start for span in windows(text, ChunkingStrategy("chars", 10, 2))]
    assert starts == [0, 7, 16, 24, 32]


def test_windows_that_would_bring_nothing_new_are_left_out() -> None:
    text = "ab" + "e" + "\u0301" * 5 + "cdef"
    spans = windows(text, ChunkingStrategy("chars", 7, 6))
    assert spans == [Span(0, 2), Span(1, 8), Span(2, 9), Span(8, 10), Span(9, 12)]


def test_windows_may_lag_so_far_that_their_clock_is_beyond_the_text() -> None:
    family = "👨‍👩‍👧‍👦"
    text = f"{family}aaaaaaaaa0a0aaaaá\u0301a{family}"
    spans = windows(text, ChunkingStrategy("tokens", 9, 0, "o200k_base"))
    assert "".join(span.of(text) for span in spans) == text
