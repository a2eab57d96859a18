"""How sure a result is: each confidence, with the note that goes with it."""

import random
import re

import pytest

import corpus
import foreign
from unchunk.domain import ChunkingStrategy
from unchunk.text.stitching import stitch, stitch_files
from unchunk.text.stitching.rulers import ruler_for
from unchunk.text.stitching.seams import Confidence, Stitched
from unchunk.text.stitching.solution import under, without
from unchunk.text.stitching.verdict import Kept, judge, kept_space

GENERATED = dict(corpus.generated())
PROSE = "A title\n\n" + GENERATED["words-6000"]
CHARS = ChunkingStrategy("chars", 300, 100)
CHUNKS = foreign.chars(300, 100).cut(PROSE)
ROW = "2024-01-01 request served in 12 ms\n"
SURE = ("verified", "consensus", "exact")
NO_SPACE = "not all kinds of white space show in the chunks: the text may lack some"
MORE = "the last chunk is full: more may have followed"


def confidences(result: Stitched) -> list[Confidence]:
    return [seam.confidence for seam in result.seams]


def test_verified_is_a_text_that_gives_its_chunks_again() -> None:
    result = stitch(CHUNKS, CHARS)
    assert result.text == PROSE
    assert set(confidences(result)) == {result.confidence} == {"verified"}
    assert result.notes == ()


def test_consensus_is_what_the_other_files_settle() -> None:
    chunker = foreign.tokens(512, 64)
    text = PROSE[:2000] + "\n"
    short = chunker.cut(text)
    together = stitch_files({"short": short, "prose": chunker.cut(GENERATED["words-15000"])})
    assert len(short) == 2
    assert stitch(short).confidence != "verified"
    assert (together["short"].text, together["short"].confidence) == (text, "consensus")


def test_rows_stay_ambiguous_even_where_others_settle_how_they_were_cut() -> None:
    chunker = foreign.tokens(512, 64)
    rows = GENERATED["rows-6000"]
    files = {"rows": chunker.cut(rows), "prose": chunker.cut(GENERATED["words-15000"])}
    result = stitch_files(files)["rows"]
    assert (result.text, result.confidence) == (rows, "ambiguous")


def test_exact_is_what_shares_more_than_chance_with_no_strategy() -> None:
    text = "\n" + PROSE[:1200] + "\n"
    result = stitch([text[:402], text[331:761], text[701:1101], text[1051:]])
    assert result.text == text
    assert result.strategy is None
    assert set(confidences(result)) == {result.confidence} == {"exact"}


def test_one_chunk_is_exact_unless_its_strategy_is_known() -> None:
    assert stitch(["\n one chunk\n\nalone\n"]).confidence == "exact"
    assert stitch(["One chunk, stripped perhaps"]).confidence == "normalized"
    known = ChunkingStrategy("tokens", 800, 400)
    assert stitch(["One chunk alone"], known).confidence == "normalized"
    half = ChunkingStrategy("tokens", 100, 50)
    others = {"other": foreign.tokens(100, 50).cut(PROSE), "one": ["One chunk alone\n"]}
    assert stitch_files(others, half)["one"].confidence == "verified"
    bare = others | {"one": ["One chunk, stripped perhaps"]}
    assert stitch_files(bare, half)["one"].confidence == "normalized"


def test_normalized_is_what_may_lack_white_space() -> None:
    chunker = foreign.words(60, 15)
    result = stitch(chunker.cut(PROSE), chunker.strategy)
    assert result.text == chunker.leaves(PROSE)
    assert result.confidence == "normalized"
    assert NO_SPACE in result.notes


def test_assumed_is_what_no_overlap_confirms() -> None:
    result = stitch(["One tw", "o\n\nthr", "ee\n"], ChunkingStrategy("chars", 6, 0))
    assert result.text == "One two\n\nthree\n"
    assert set(confidences(result)) == {result.confidence} == {"assumed"}


def test_ambiguous_is_a_text_whose_end_may_be_missing() -> None:
    result = stitch(CHUNKS[:-1], CHARS)
    assert PROSE.startswith(result.text)
    assert result.confidence == "ambiguous"
    assert MORE in result.notes


def test_lossy_is_a_character_that_no_chunk_holds_whole() -> None:
    chunker = foreign.tokens(3, 0)
    chunks = chunker.cut("a🙃b c")
    assert chunks == ["a�", "�b c"]
    result = stitch(chunks, chunker.strategy)
    assert result.text == "a�b c"
    assert result.confidence == "lossy"


def test_none_is_where_no_joint_was_found() -> None:
    result = stitch([" one thing", "quite another, and longer "])
    assert result.text == " one thing\nquite another, and longer "
    assert confidences(result) == [result.confidence] == ["none"]
    nothing = stitch([])
    assert (nothing.text, nothing.confidence) == ("", "none")
    assert nothing.notes == ("there are no chunks",)


def test_a_missing_chunk_is_noted() -> None:
    result = stitch(CHUNKS[:4] + CHUNKS[5:], CHARS)
    assert result.missing == 1
    assert "at least 1 missing: the stride shows where" in result.notes


def test_another_order_is_noted() -> None:
    result = stitch(CHUNKS[::-1], CHARS)
    assert result.text == PROSE
    assert "the chunks were not in the order of the text and were put so" in result.notes
    assert result.confidence == "verified"


def test_the_order_of_two_chunks_alone_is_never_sure() -> None:
    two = foreign.chars(300, 100).cut(PROSE[:450])
    result = stitch(two[::-1], CHARS)
    assert result.text == PROSE[:450]
    assert result.reordered
    assert result.confidence == "ambiguous"


@pytest.mark.parametrize("begin", [" and", "and", ", and", "\ufffd", "\u0301"])
def test_a_text_that_begins_as_a_middle_may_lack_its_beginning(begin: str) -> None:
    text = begin + PROSE
    chunks = foreign.chars(300, 100).cut(text)
    result = stitch(chunks, CHARS)
    assert (result.text, result.confidence) == (text, "ambiguous")
    assert "the first chunk may be missing" in " ".join(result.notes)
    assert stitch(chunks, CHARS, from_start=True).confidence == "verified"


def test_a_first_chunk_that_is_known_to_be_missing_keeps_the_text_from_being_sure() -> None:
    text = "".join(f"VERSE {number}.\n\n" for number in range(200)) + "END"
    chunks = foreign.chars(300, 100).cut(text)
    at = next(at for at, chunk in enumerate(chunks) if at and chunk[0].isupper())
    assert stitch(chunks[at:], CHARS).confidence == "verified"  # nothing in them tells
    result = stitch(chunks[at:], CHARS, from_start=False)
    assert text.endswith(result.text)
    assert result.confidence == "ambiguous"
    assert "the first chunk is missing" in result.notes


def test_empty_lines_of_windows_are_seen_where_there_are_no_others() -> None:
    text = "".join(f"Verse {number}.\r\n\r\n" for number in range(200))
    assert stitch(foreign.chars(300, 100).cut(text), CHARS).confidence == "verified"
    mixed = text + "and\nmore\n"
    assert stitch(foreign.chars(300, 100).cut(mixed), CHARS).confidence == "normalized"


def test_blank_lines_that_were_squeezed_keep_the_text_from_being_sure() -> None:
    chunker = foreign.tokens(100, 50)
    text = "".join(f"Verse {number}.\n\n" for number in range(200))
    chunks = [re.sub(r"\n{2,}", "\n", chunk) for chunk in chunker.cut(text)]
    assert stitch(chunks, chunker.strategy).confidence not in SURE


def test_with_no_strategy_a_last_chunk_as_long_as_the_others_may_not_be_the_last() -> None:
    text = "\n" + PROSE[:1463] + "\n"
    result = stitch([text[:402], text[331:761], text[701:1101], text[1051:]])
    assert result.text == text
    assert result.confidence == "ambiguous"
    assert "the last chunk is as long as the others: more may have followed" in result.notes


@pytest.mark.parametrize(
    ("size", "overlap"), [(8, 4), (8, 2), (6, 3), (5, 1), (4, 3)], ids=lambda rows: f"{rows} rows"
)
@pytest.mark.parametrize("rest", [0, 7, 20])
def test_rows_that_repeat_every_stride_are_not_sure_since_a_chunk_may_be_missing_unseen(
    size: int, overlap: int, rest: int
) -> None:
    strategy = ChunkingStrategy("chars", size * len(ROW), overlap * len(ROW))
    text = ROW * 40 + ROW[:rest]
    chunks = foreign.chars(strategy.size, strategy.overlap).cut(text)
    for some in (chunks, chunks[:3] + chunks[4:]):
        for known in (strategy, None):
            assert stitch(some, known).confidence not in SURE


@pytest.mark.parametrize("name", ["rows-6000", "log-6000", "dashes-6000", "one-letter-6000"])
def test_a_repetitive_text_that_lacks_a_chunk_is_not_sure(name: str) -> None:
    for chunker in (foreign.tokens(512, 64), foreign.tokens(800, 400), foreign.chars(1000, 200)):
        chunks = chunker.cut(GENERATED[name])
        for at in range(1, len(chunks)):
            result = stitch(chunks[:at] + chunks[at + 1 :], chunker.strategy)
            assert result.confidence not in SURE or result.text == GENERATED[name]


def test_an_overlap_too_poor_to_prove_anything_is_assumed() -> None:
    result = stitch(["-" * 30, "-" * 30, "-" * 20], ChunkingStrategy("chars", 30, 10))
    assert result.text == "-" * 60
    assert confidences(result) == ["assumed", "assumed"]


def test_a_last_chunk_that_lies_within_the_one_before_proves_as_much_as_the_check() -> None:
    chunker = foreign.tokens(100, 50, to_the_last=True)
    text = PROSE
    result = stitch(chunker.cut(text), chunker.strategy)
    assert result.text == text
    assert result.confidence == "verified"


def test_the_support_of_the_strategy_is_that_of_its_joints() -> None:
    solution = under(CHUNKS, CHARS)
    for support in ("verified", "consensus", "ambiguous"):
        assert set(confidences(judge(solution, support, kept=True))) == {support}


def test_a_text_that_was_not_confirmed_is_at_most_exact() -> None:
    solution = without(["\n" + CHUNKS[0], *CHUNKS[1:-1], CHUNKS[-1][:150]])
    assert judge(solution, "verified", kept=True).confidence == "exact"


def test_chunks_show_that_they_kept_their_white_space_or_not() -> None:
    assert kept_space(without(["one ", "two"])) == Kept(False, True, False)
    assert kept_space(without(["one", "\ttwo"])) == Kept(True, False, False)
    assert kept_space(without(["one\n\ntwo"])) == Kept(False, False, True)
    assert kept_space(without(["one\n \ntwo"])) == Kept(False, False, False)
    assert kept_space(without(["one two", "three"])) == Kept(False, False, False)
    assert kept_space(without([" one", "two\n\n"])) == Kept(True, True, True)
    assert not any(kept_space(without(["", ""])))


def test_what_other_files_show_of_white_space_holds_for_files_cut_alike() -> None:
    chunker = foreign.chars(300, 100)
    line = GENERATED["base64-one-line-6000"] + "\n"
    alone = stitch(chunker.cut(line), CHARS, from_start=True)
    both = {"line": chunker.cut(line), "prose": CHUNKS}
    together = stitch_files(both, CHARS, from_start={"line": True})
    assert (alone.text, alone.confidence) == (line, "normalized")
    assert (together["line"].text, together["line"].confidence) == (line, "verified")


def test_a_file_that_shows_no_white_space_at_any_edge_is_not_taken_to_have_kept_it() -> None:
    text = "A title\n\n" + "".join(f"word{number:04}" for number in range(150)) + "\n"
    chunks = [chunk.strip() for chunk in foreign.chars(300, 100).cut(text)]
    found = stitch_files({"short": chunks, "prose": CHUNKS}, CHARS, from_start=True)
    assert found["short"].text == text.rstrip()
    assert found["short"].confidence == "normalized"
    assert found["prose"].confidence == "verified"


def test_chunks_that_were_stripped_are_never_sure_whatever_others_show() -> None:
    # The first begins with white space that no strip took, as where only ends were stripped.
    text = "\n" + PROSE
    chunks = [chunk.rstrip() for chunk in foreign.chars(300, 100).cut(text)]
    others = foreign.chars(300, 100).cut(text.upper())
    found = stitch_files({"stripped": chunks, "whole": others}, CHARS, from_start=True)
    assert under(chunks, CHARS).check == "stripped"
    assert found["stripped"].confidence == "normalized"
    assert found["whole"].confidence == "verified"


def test_words_with_white_space_around_them_are_not_given_again_as_they_were() -> None:
    text = "\n" + PROSE + "\n"
    strategy = ChunkingStrategy("words", 60, 15)
    chunks = list(ruler_for(strategy).recut(text))
    chunks = ["\n" + chunks[0], *chunks[1:-1], chunks[-1] + "\n"]
    assert stitch(chunks, strategy).confidence == "normalized"


@pytest.mark.parametrize("given", [CHARS, None], ids=["known", "unknown"])
def test_a_text_as_long_as_the_file_was_lacks_no_white_space(
    given: ChunkingStrategy | None,
) -> None:
    text = "A title\n" + GENERATED["words-6000"].replace("\n", " ").strip()
    chunks = foreign.chars(300, 100).cut(text)
    size = len(text.encode())
    assert stitch_files({"a": chunks}, given)["a"].confidence == "normalized"
    sized = stitch_files({"a": chunks}, given, sizes={"a": size})["a"]
    assert (sized.text, sized.confidence, sized.notes) == (text, "verified", ())
    for other in (None, size + 1, size - 1):
        assert stitch_files({"a": chunks}, given, sizes={"a": other})["a"].notes == (NO_SPACE,)


def test_a_last_chunk_that_is_full_is_the_last_where_the_size_is_right() -> None:
    text = PROSE[:4898] + "\n\n"
    chunks = foreign.chars(300, 100).cut(text)
    assert len(chunks[-1]) == 300
    assert stitch_files({"a": chunks}, CHARS)["a"].confidence == "ambiguous"
    assert stitch_files({"a": chunks}, CHARS, sizes={"a": len(text)})["a"].confidence == "verified"


def test_a_size_says_nothing_where_blanks_may_stand_for_newlines() -> None:
    text = PROSE[:5000].strip()
    flat = " ".join(text.split("\n")).replace("  ", " .")
    chunks = foreign.chars(300, 100).cut(flat)
    assert stitch_files({"a": chunks}, CHARS, sizes={"a": len(flat)})["a"].confidence not in SURE
    words = foreign.words(60, 15)
    found = stitch_files({"a": words.cut(text)}, words.strategy, sizes={"a": len(text)})["a"]
    assert found.confidence not in SURE


def test_chunks_that_were_stripped_do_not_hide_that_more_may_have_followed() -> None:
    text = PROSE[:1463]
    chunks = [text[:402].strip(), text[331:761].strip(), text[701:1101].strip(), text[1051:]]
    result = stitch(chunks)
    assert result.strategy is None
    assert result.confidence == "ambiguous"
    assert "the last chunk is as long as the others: more may have followed" in result.notes


@pytest.mark.parametrize("chunks", [["and one chunk\n\nalone\n"], ["and one of", "two parts"]])
def test_without_a_strategy_too_a_text_may_lack_its_beginning(chunks: list[str]) -> None:
    assert "the first chunk may be missing" in " ".join(stitch(chunks).notes)
    assert "the first chunk" not in " ".join(stitch(chunks, from_start=True).notes)


@pytest.mark.parametrize("seed", [2, 3])
def test_what_is_ambiguous_says_why(seed: int) -> None:
    rng = random.Random(seed)
    seen = 0
    for name, text in GENERATED.items():
        chunker = rng.choice([foreign.tokens(100, 50), foreign.chars(300, 100)])
        chunks = chunker.cut(text[: rng.randrange(200, 3000)])
        chunks = rng.sample(chunks, len(chunks)) if rng.random() < 0.3 else chunks
        for given in (chunker.strategy, CHARS, None):
            found = stitch(chunks, given, from_start=True)
            if found.confidence == "ambiguous":
                seen += 1
                assert set(found.notes) - {NO_SPACE}, name
    assert seen > 20


def test_a_strategy_that_the_chunks_do_not_fit_is_named() -> None:
    found = stitch(CHUNKS, ChunkingStrategy("tokens", 800, 400))
    assert found.text == PROSE
    assert found.strategy == CHARS
    note = "the chunks do not fit the strategy that was given, 800/400 tokens: some may be missing"
    assert note in found.notes


def test_a_last_chunk_that_is_the_one_before_in_other_white_space_is_joined_to_it() -> None:
    for strategy in (None, ChunkingStrategy("tokens", 800, 400)):
        found = stitch(["Hello world", "Hello  world"], strategy)
        assert (found.text, found.confidence) == ("Hello  world", "normalized")
        assert [(seam.overlap, seam.confidence) for seam in found.seams] == [(12, "normalized")]


@pytest.mark.parametrize("text", ["Alpha beta  gamma A", "That  is what T", "Error  handler E"])
def test_letters_shared_by_chance_do_not_double_a_chunk_in_other_white_space(text: str) -> None:
    """Each text ends with the letter that it begins with, as if windows overlapped by one."""
    found = stitch([text, " ".join(text.split())])
    assert (found.text, found.confidence) == (text, "normalized")


def test_without_overlap_equal_chunks_are_text_that_came_twice() -> None:
    none = ChunkingStrategy("chars", 100, 0)
    assert "Hello world" in stitch(["Hello world", "Hello  world"], none).text
    # So are those that differ at their ends alone: a window over equal lines makes such.
    assert stitch(["Hello world\n", "Hello world"]).text == "Hello world\n\nHello world"
