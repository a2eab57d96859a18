"""The encodings are OpenAI's own, whole or in blocks, and say so where they cannot be."""

from functools import lru_cache
from itertools import pairwise

import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st

import corpus
import foreign
from unchunk.domain import EncodingName
from unchunk.errors import IntegrityError, InvalidTextError
from unchunk.text import tokens
from unchunk.text.tokens import Encoding, get_encoding, safe_blocks

NAMES: list[EncodingName] = ["cl100k_base", "o200k_base"]
PIECES = [
    *"aZ9.'’ \n\r\t漢한\x00�",
    "word ",
    "don't ",
    "\r\n",
    "  \n  ",
    "1234567",
    "e\u0301",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "\u3000",
    "<|endoftext|>",
    "x = {'a': 1}\n\n",
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(codec="utf-8"), max_size=80).map("".join)
names = st.sampled_from(NAMES)
# No deadline: the first example of each encoding loads it.
MANY = settings(max_examples=300, deadline=None)
HARD = corpus.generated()[:17]


@lru_cache(maxsize=2)
def official(name: EncodingName) -> tiktoken.Encoding:
    """OpenAI's own encoder, over the vocabulary that was checked against its checksum."""
    if name == "cl100k_base":
        return foreign._tiktoken()
    upper, lower = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
    ending = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    pattern = "|".join(
        [
            rf"[^\r\n\p{{L}}\p{{N}}]?[{upper}]*[{lower}]+{ending}",
            rf"[^\r\n\p{{L}}\p{{N}}]?[{upper}]+[{lower}]*{ending}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    )
    ranks = {token: rank for rank, token in enumerate(get_encoding(name).vocabulary) if token}
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def sliced(encoding: Encoding, text: str, size: int, overlap: int) -> list[str]:
    ids = list(encoding.encode(text))
    return [
        b"".join(encoding.vocabulary[one] for one in ids[at : at + size]).decode("utf-8", "replace")
        for at in range(0, len(ids), size - overlap)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_vocabulary_that_was_tampered_with_is_refused(
    name: EncodingName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tokens.PUBLISHED_SHA256, name, "0" * 64)
    with pytest.raises(IntegrityError, match=f"{name}.*not the published one.*pip install"):
        Encoding(name)


@pytest.mark.parametrize(("name", "size"), [("cl100k_base", 100_256), ("o200k_base", 199_998)])
def test_the_vocabulary_is_as_large_as_the_published_one(name: EncodingName, size: int) -> None:
    vocabulary = get_encoding(name).vocabulary
    assert len(vocabulary) == len(set(vocabulary)) == size


def test_an_encoding_is_read_once_and_is_cl100k_unless_told_otherwise() -> None:
    assert get_encoding() is get_encoding("cl100k_base")
    assert get_encoding().name == "cl100k_base"
    assert get_encoding("o200k_base") is not get_encoding()


@given(texts, names)
@example("", "cl100k_base")
@MANY
def test_what_is_encoded_decodes_to_itself(text: str, name: EncodingName) -> None:
    encoding = get_encoding(name)
    ids = encoding.encode(text)
    assert encoding.decode(ids) == text
    assert encoding.decode_bytes(ids) == text.encode()
    assert encoding.count(text) == len(ids)


@given(texts, names)
@MANY
def test_any_text_has_the_tokens_that_the_official_encoder_gives(
    text: str, name: EncodingName
) -> None:
    assert list(get_encoding(name).encode(text)) == official(name).encode_ordinary(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("title", "text"), HARD, ids=[title for title, _ in HARD])
def test_hard_texts_have_the_tokens_that_the_official_encoder_gives(
    name: EncodingName, title: str, text: str
) -> None:
    assert list(get_encoding(name).encode(text)) == official(name).encode_ordinary(text), title


@pytest.mark.skipif(not corpus.DATA.exists(), reason=corpus.MISSING)
@pytest.mark.parametrize(("name", "step"), [("cl100k_base", 1), ("o200k_base", 4)])
def test_real_texts_have_the_tokens_that_the_official_encoder_gives(
    name: EncodingName, step: int
) -> None:
    ours, theirs = get_encoding(name), official(name)
    sample = [*corpus.natural()[::step], *corpus.markup()[::step]]
    differ = [
        title for title, text in sample if list(ours.encode(text)) != theirs.encode_ordinary(text)
    ]
    assert len(sample) > 150
    assert differ == []


@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_are_ordinary_text(name: EncodingName) -> None:
    encoding = get_encoding(name)
    ids = encoding.encode("<|endoftext|>")
    assert len(ids) > 1
    assert max(ids) < len(encoding.vocabulary)


@given(texts, names, st.integers(1, 12))
@MANY
def test_blocks_join_to_the_text_and_encode_as_it_does(
    text: str, name: EncodingName, size: int
) -> None:
    encoding = get_encoding(name)
    blocks = list(safe_blocks(text, size))
    assert "".join(blocks) == text
    assert [one for block in blocks for one in encoding.encode(block)] == list(
        encoding.encode(text)
    )


def test_blocks_end_at_the_first_safe_place_behind_their_size() -> None:
    assert list(safe_blocks("one two three, four five", 5)) == ["one two", " three, four", " five"]


@pytest.mark.parametrize("text", ["", "short", "漢字。" * 100, "." * 100])
def test_a_text_that_is_short_or_has_no_safe_place_is_one_block(text: str) -> None:
    assert list(safe_blocks(text, 10)) == [text]


@given(texts, names)
@MANY
def test_bounds_say_how_many_characters_begin_before_each_token(
    text: str, name: EncodingName
) -> None:
    encoding = get_encoding(name)
    ids, bounds = encoding.encode(text), encoding.bounds(text)
    assert len(bounds) == len(ids) + 1
    assert (bounds[0], bounds[-1]) == (0, len(text))
    assert [after - before for before, after in pairwise(bounds)] == list(encoding.lengths(ids))
    for at, bound in enumerate(bounds):
        # A token that begins inside a character is given the offset behind it.
        behind = len(text[:bound].encode()) - len(encoding.decode_bytes(ids[:at]))
        assert 0 <= behind <= 3
        if behind:
            assert encoding.depth(ids, at) == behind


@given(texts, names)
@MANY
def test_depth_counts_the_bytes_of_a_character_that_was_cut(text: str, name: EncodingName) -> None:
    encoding = get_encoding(name)
    ids = encoding.encode(text)
    for at in range(len(ids)):
        depth, rest = encoding.depth(ids, at), encoding.decode_bytes(ids[at:])
        assert all(0x80 <= byte < 0xC0 for byte in rest[:depth])
        rest[depth:].decode()


@given(texts, names, st.integers(1, 40), st.data())
@MANY
def test_windows_are_slices_of_the_tokens(
    text: str, name: EncodingName, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    encoding = get_encoding(name)
    assert list(encoding.windows(text, size, overlap)) == sliced(encoding, text, size, overlap)


@pytest.mark.parametrize(("size", "overlap"), [(800, 400), (512, 64), (300, 0)])
def test_windows_of_a_text_of_several_blocks_are_slices_of_its_tokens(
    size: int, overlap: int
) -> None:
    parts = [text for _, text in corpus.generated()]
    text = "\n".join(parts) * 3
    encoding = get_encoding()
    assert len(list(safe_blocks(text))) > 2
    assert list(encoding.windows(text, size, overlap)) == sliced(encoding, text, size, overlap)


def test_a_window_that_cuts_a_character_has_the_replacement_mark_on_both_sides() -> None:
    encoding = get_encoding()
    assert list(encoding.windows("a🙃b", 3, 0)) == ["a�", "�b"]
    assert list(encoding.windows("a🙃b", 4, 3)) == ["a🙃", "🙃b", "��b", "�b", "b"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["\ud800", "a \udfff b", "x" * 100 + "\ud83d"])
def test_a_lone_surrogate_cannot_be_encoded(name: EncodingName, text: str) -> None:
    encoding = get_encoding(name)
    with pytest.raises(InvalidTextError, match=r"lone surrogate.*words or characters"):
        encoding.encode(text)
    with pytest.raises(InvalidTextError, match="lone surrogate"):
        encoding.count(text)
    with pytest.raises(InvalidTextError, match="lone surrogate"):
        encoding.bounds(text)
    with pytest.raises(InvalidTextError, match="lone surrogate"):
        list(encoding.windows(text, 5, 2))


@pytest.mark.parametrize(("name", "unknown"), [("cl100k_base", 100_256), ("o200k_base", 10**9)])
def test_an_id_that_is_no_token_cannot_be_decoded(name: EncodingName, unknown: int) -> None:
    with pytest.raises(InvalidTextError, match=f"{unknown} is not a token of {name}"):
        get_encoding(name).decode([1, unknown, 2])


def test_a_million_letters_with_no_blank_are_encoded() -> None:
    encoding = get_encoding()
    ids = encoding.encode("a" * 1_500_000)
    assert encoding.decode(ids) == "a" * 1_500_000


def test_a_negative_id_is_no_token() -> None:
    with pytest.raises(InvalidTextError, match="-1 is not a token of cl100k_base"):
        get_encoding("cl100k_base").decode([5, -1])
