"""Files out of Qdrant and Chroma, as LangChain and LlamaIndex fill them.

    python -m bench.foreign_stores [--every 1] [--store qdrant|chroma]

Every natural text of the corpora, cut by the libraries' own splitters and written as their store
classes write it: with the offsets that they can keep, without, and without in random order. Beside the
rates stands what stitching the same chunks gives in the order of the splitter, with no store between:
a store may lose nothing.

The exit status is 1 if a file that differs is called sure, or if a store in the splitter's order gives
back less than the chunks alone.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import corpus
import servers
import splitters
from splitters import Cutter, Row
from unchunk.adapters.sources.chroma_files import ChromaFiles
from unchunk.adapters.sources.qdrant_files import QdrantFiles
from unchunk.text.stitching import stitch_files

_MANNERS = (
    ("with offsets, any order", True, True),
    ("without, in order", False, False),
    ("without, any order", False, True),
)
_SPLITTERS: Mapping[str, Cutter] = {
    "LangChain recursive 1000/200": splitters.langchain,
    "LlamaIndex sentence 512/50": splitters.llama_index,
}
Fill = Callable[[str, Sequence[Row]], None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--store", choices=["qdrant", "chroma"], default="qdrant")
    options = parser.parse_args()
    texts = dict(corpus.natural()[:: options.every])
    failed = False
    print(f"| in {options.store} | files | back | chunks alone, in order | falsely sure |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, _opened(options.store, Path(folder)) as opened:
        fill, open_store = opened
        for name, cut in _SPLITTERS.items():
            alone = _alone(texts, cut)
            for number, (manner, offsets, shuffled) in enumerate(_MANNERS):
                collection = f"{cut.__name__}-{number}"
                found = splitters.rates(
                    texts, cut, fill, open_store, collection, offsets=offsets, shuffled=shuffled
                )
                failed |= bool(found.unnamed) or (not shuffled and found.share < alone)
                print(
                    f"| {name}, {manner} | {found.files} | {found.share:.1%} | {alone:.1%}"
                    f" | {len(found.unnamed)} |",
                    flush=True,
                )
    return int(failed)


@contextmanager
def _opened(kind: str, folder: Path) -> Iterator[tuple[Fill, splitters.Open]]:
    if kind == "qdrant":
        with servers.qdrant(folder) as server:
            yield partial(splitters.fill_qdrant, server.url), partial(QdrantFiles, server.url)
    else:
        with servers.chroma(folder) as url:
            yield partial(splitters.fill_chroma, url), partial(ChromaFiles, url)


def _alone(texts: Mapping[str, str], cut: Cutter) -> float:
    cut_texts = zip(texts, cut(texts, offsets=False), strict=True)
    files = {name: [row.text for row in rows] for name, rows in cut_texts if len(rows) > 1}
    found = stitch_files(files)
    return sum(found[name].text == texts[name].strip() for name in files) / max(1, len(files))


if __name__ == "__main__":
    sys.exit(main())
