"""How many real and hard texts come back, from chunks that other people's chunkers made.

In every run, a file of several chunks that is said to be sure is the original, byte for byte.
Where a run is slow it takes every so many of the texts, always the same ones.
"""

from collections.abc import Callable, Iterable, Mapping

import pytest

import corpus
import foreign
from unchunk.text.stitching import Stitched, stitch, stitch_files

pytestmark = pytest.mark.skipif(not corpus.DATA.exists(), reason=corpus.MISSING)

Chunks = Mapping[str, list[str]]
SURE = ("verified", "consensus", "exact")
NAMED: dict[str, Callable[[], tuple[corpus.Text, ...]]] = {
    "natural": corpus.natural,
    "markup": corpus.markup,
    "generated": corpus.generated,
}


class Run:
    """One chunker over texts, and what became of them."""

    def __init__(
        self,
        chunker: foreign.Chunker,
        texts: Iterable[corpus.Text],
        put_together: Callable[[Chunks], Mapping[str, Stitched]],
    ) -> None:
        self.originals = dict(texts)
        self.chunks = {name: chunker.cut(text) for name, text in self.originals.items()}
        self.results = put_together(self.chunks)
        self.wrong = {
            name
            for name, text in self.originals.items()
            if self.results[name].text != chunker.leaves(text)
        }

    @property
    def rate(self) -> float:
        return 1 - len(self.wrong) / len(self.originals)

    @property
    def falsely_sure(self) -> list[str]:
        return [
            name
            for name, text in self.originals.items()
            if len(self.chunks[name]) > 1
            and self.results[name].confidence in SURE
            and self.results[name].text != text
        ]

    def said_of_the_wrong(self) -> set[str]:
        return {self.results[name].confidence for name in self.wrong}


def known(chunker: foreign.Chunker, texts: Iterable[corpus.Text]) -> Run:
    return Run(chunker, texts, lambda chunks: stitch_files(chunks, chunker.strategy))


def unknown(chunker: foreign.Chunker, texts: Iterable[corpus.Text]) -> Run:
    return Run(chunker, texts, stitch_files)


def alone(chunker: foreign.Chunker, texts: Iterable[corpus.Text]) -> Run:
    return Run(chunker, texts, lambda files: {name: stitch(files[name]) for name in files})


def name_of(chunker: foreign.Chunker) -> str:
    return chunker.name


@pytest.mark.parametrize(("name", "step"), [("natural", 3), ("markup", 4), ("generated", 1)])
@pytest.mark.parametrize(
    "chunker",
    [
        foreign.tokens(800, 400),
        foreign.tokens(1600, 800),
        foreign.tokens(512, 64),
        foreign.tokens(100, 50),
        foreign.tokens(800, 400, to_the_last=True),
        foreign.words(320, 80),
        foreign.chars(1000, 200),
    ],
    ids=name_of,
)
def test_under_a_known_strategy_every_text_comes_back(
    chunker: foreign.Chunker, name: str, step: int
) -> None:
    run = known(chunker, NAMED[name]()[::step])
    assert run.wrong == set()
    assert run.falsely_sure == []


@pytest.mark.parametrize(
    ("edge", "rate"),
    [(foreign.strip, 1.0), (foreign.collapse, 0.99)],
    ids=["stripped", "collapsed"],
)
def test_chunks_that_lost_white_space_come_back_as_they_were_left(
    edge: Callable[[str], str], rate: float
) -> None:
    run = known(foreign.tokens(800, 400, edge), corpus.natural()[::3])
    assert run.rate >= rate
    assert run.falsely_sure == []
    assert not {result.confidence for result in run.results.values()} & {"verified", "consensus"}


@pytest.mark.parametrize(("name", "step"), [("natural", 2), ("generated", 1)])
def test_without_overlap_only_characters_that_were_cut_are_lost_and_that_is_said(
    name: str, step: int
) -> None:
    run = known(foreign.tokens(300, 0), NAMED[name]()[::step])
    whole = {key for key, chunks in run.chunks.items() if not any("�" in chunk for chunk in chunks)}
    assert whole
    assert not run.wrong & whole
    assert run.said_of_the_wrong() <= {"lossy"}
    assert run.falsely_sure == []


@pytest.mark.parametrize(
    "chunker",
    [foreign.tokens(800, 400), foreign.tokens(512, 64), foreign.words(320, 80)],
    ids=name_of,
)
def test_with_no_strategy_the_files_of_a_store_tell_it_together(chunker: foreign.Chunker) -> None:
    run = unknown(chunker, corpus.natural()[::4])
    assert run.wrong == set()
    assert run.falsely_sure == []


@pytest.mark.parametrize(
    "chunker", [foreign.tokens(800, 400), foreign.tokens(512, 64)], ids=name_of
)
def test_with_no_strategy_a_store_of_hard_texts_comes_back_too(chunker: foreign.Chunker) -> None:
    run = unknown(chunker, corpus.generated()[::2])
    assert run.wrong == set()
    assert run.falsely_sure == []


def test_with_no_strategy_and_no_other_file_real_texts_come_back() -> None:
    run = alone(foreign.tokens(512, 64), corpus.natural()[::4])
    assert run.wrong == set()
    assert run.falsely_sure == []


def test_with_no_strategy_and_no_other_file_most_hard_texts_come_back() -> None:
    run = alone(foreign.tokens(512, 64), corpus.generated())
    assert run.rate >= 0.8
    assert run.said_of_the_wrong() <= {"ambiguous"}
    assert run.falsely_sure == []


@pytest.mark.parametrize(
    ("name", "step", "rate"), [("natural", 4, 0.65), ("generated", 1, 0.6)], ids=["natural", "hard"]
)
def test_most_texts_come_back_from_a_recursive_splitter(name: str, step: int, rate: float) -> None:
    run = unknown(foreign.recursive(), NAMED[name]()[::step])
    assert run.rate >= rate
    assert run.falsely_sure == []


@pytest.mark.parametrize(("name", "step"), [("natural", 6), ("generated", 2)])
def test_of_a_splitter_of_sentences_no_text_is_claimed_that_is_not_right(
    name: str, step: int
) -> None:
    run = unknown(foreign.sentences(), NAMED[name]()[::step])
    assert run.falsely_sure == []
    assert run.rate >= 0.3
