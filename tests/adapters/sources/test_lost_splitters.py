"""What LangChain's and LlamaIndex's own splitters cut comes back from Qdrant and from Chroma.

On a sample; `splitters.rates` measures it on as many texts as it is given.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from itertools import count

import pytest

import corpus
import foreign
import servers
import splitters
from unchunk.adapters.sources.chroma_files import ChromaFiles
from unchunk.adapters.sources.qdrant_files import QdrantFiles
from unchunk.text.stitching import stitch_files

pytestmark = pytest.mark.skipif(not corpus.DATA.exists(), reason=corpus.MISSING)
_NUMBERS = count()
_LONGEST = 60_000


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.qdrant(tmp_path_factory.mktemp("qdrant")) as server:
        yield server.url


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.chroma(tmp_path_factory.mktemp("chroma")) as url:
        yield url


@lru_cache(maxsize=1)
def sample() -> Mapping[str, str]:
    return {name: text for name, text in corpus.natural()[::35] if len(text) < _LONGEST}


@lru_cache(maxsize=2)
def without_a_store(cut: splitters.Cutter) -> float:
    """The rate of issue 01 on this sample: its chunks in order, and nothing else."""
    chunker = {
        splitters.langchain: foreign.recursive(),
        splitters.llama_index: foreign.sentences(),
    }[cut]
    cuts = {name: chunker.cut(text) for name, text in sample().items()}
    files = {name: chunks for name, chunks in cuts.items() if len(chunks) > 1}
    results = stitch_files(files)
    right = sum(results[name].text == sample()[name].strip() for name in files)
    return right / len(files)


def in_qdrant(url: str, cut: splitters.Cutter, *, offsets: bool, shuffled: bool) -> splitters.Rates:
    return splitters.rates(
        sample(),
        cut,
        partial(splitters.fill_qdrant, url),
        partial(QdrantFiles, url),
        f"split{next(_NUMBERS)}",
        offsets=offsets,
        shuffled=shuffled,
    )


def in_chroma(url: str, cut: splitters.Cutter, *, offsets: bool, shuffled: bool) -> splitters.Rates:
    return splitters.rates(
        sample(),
        cut,
        partial(splitters.fill_chroma, url),
        partial(ChromaFiles, url),
        f"split{next(_NUMBERS)}",
        offsets=offsets,
        shuffled=shuffled,
    )


CUTTERS = [splitters.langchain, splitters.llama_index]


@pytest.mark.parametrize("cut", CUTTERS)
def test_with_offsets_almost_all_comes_back_in_whatever_order_the_store_is(
    qdrant: str, chroma: str, cut: splitters.Cutter
) -> None:
    for found in (
        in_qdrant(qdrant, cut, offsets=True, shuffled=True),
        in_chroma(chroma, cut, offsets=True, shuffled=False),
    ):
        assert found.files > 15
        assert found.share > 0.85
        assert found.share > without_a_store(cut)
        assert found.unnamed == []


@pytest.mark.parametrize("cut", CUTTERS)
def test_without_offsets_as_much_comes_back_as_the_chunks_alone_give(
    qdrant: str, chroma: str, cut: splitters.Cutter
) -> None:
    for found in (
        in_qdrant(qdrant, cut, offsets=False, shuffled=False),
        in_chroma(chroma, cut, offsets=False, shuffled=False),
    ):
        assert found.share >= without_a_store(cut)
        assert found.unnamed == []


def test_where_nodes_name_their_neighbours_the_order_of_the_store_does_not_matter(
    chroma: str,
) -> None:
    found = in_chroma(chroma, splitters.llama_index, offsets=False, shuffled=True)
    assert found.share >= without_a_store(splitters.llama_index)
    assert found.unnamed == []


def test_where_nothing_tells_the_order_what_is_wrong_is_named(qdrant: str) -> None:
    found = in_qdrant(qdrant, splitters.langchain, offsets=False, shuffled=True)
    assert 0 < found.right < found.files
    assert found.unnamed == []
