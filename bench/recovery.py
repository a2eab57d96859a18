"""How much comes back: `python -m bench.recovery [--quick]`.

Cuts every text of the corpora in every way, joins it by each method, and writes the rates to
docs/recovery.md; `bench.measures.stitching` tells how fast. `--quick` takes a tenth of the texts
and writes nothing.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from unchunk import Stitched, stitch, stitch_chunks, stitch_files
from unchunk.text.stitching.borders import borders

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import corpus  # noqa: E402 - it lies with the tests, which share it
import foreign  # noqa: E402
from foreign import Chunker, collapse, strip  # noqa: E402

__all__ = ["corpus", "foreign", "literal", "longest", "main"]

Chunks = dict[str, list[str]]
Corpus = Mapping[str, str]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    step = 10 if quick else 1
    corpora = {
        "natural": dict(corpus.natural()[::step]),
        "markup": dict(corpus.markup()[::step]),
        "generated": dict(corpus.generated()[:: min(step, 3)]),
    }
    lines = _rates(corpora)
    print("\n".join(lines))
    if not quick:
        intro = (ROOT / "bench" / "recovery.intro.md").read_text("utf-8")
        (ROOT / "docs" / "recovery.md").write_text(intro + "\n" + "\n".join(lines) + "\n", "utf-8")


def _chunkers() -> list[Chunker]:
    tokens, words = foreign.tokens, foreign.words
    return [
        *(tokens(*pair) for pair in [(800, 400), (1600, 800), (512, 64), (100, 50), (300, 0)]),
        tokens(800, 400, to_the_last=True),
        tokens(800, 400, strip),
        tokens(800, 400, collapse),
        words(320, 80),
        words(320, 80, to_the_last=True),
        foreign.chars(1000, 200),
        foreign.recursive(),
        foreign.sentences(),
    ]


def _rates(corpora: Mapping[str, Corpus]) -> list[str]:
    header = "| chunker | texts | known | store | alone | longest per pair | literal |"
    title = "## Files of more than one chunk that come back byte for byte"
    lines = [title, "", header, "|" + "---|" * 7]
    claims: Counter[tuple[str, bool]] = Counter()
    for chunker in _chunkers():
        for name, texts in corpora.items():
            cut = {key: chunker.cut(text) for key, text in texts.items()}
            files = {key: chunks for key, chunks in cut.items() if len(chunks) > 1}
            wanted = {key: chunker.leaves(texts[key]) for key in files}
            known = stitch_files(files, chunker.strategy) if chunker.strategy else None
            store = stitch_files(files)
            alone = {key: stitch(chunks) for key, chunks in files.items()}
            for results in filter(None, (known, store, alone)):
                claims.update(_claims(results, wanted))
            cells = [
                _share(results, wanted) if results else "" for results in (known, store, alone)
            ]
            cells.append(_percent(longest(chunks) == wanted[key] for key, chunks in files.items()))
            literally = literal(files)
            cells.append(_percent(literally[key] == wanted[key] for key in files))
            lines.append(f"| {chunker.name} | {len(files)} {name} | " + " | ".join(cells) + " |")
            print(lines[-1], file=sys.stderr)
    lines += ["", *_damaged(corpora["natural"], claims), "", *_worth(claims)]
    return lines


def _damaged(texts: Corpus, claims: Counter[tuple[str, bool]]) -> list[str]:
    """Stores with something wrong: mixed strategies, shuffled chunks, a chunk gone."""
    rng = random.Random(1)
    long = {name: text for name, text in texts.items() if len(text) > 8000}
    cutters = [foreign.tokens(800, 400), foreign.tokens(512, 64), foreign.chars(1000, 200)]
    mixed = {name: rng.choice(cutters).cut(text) for name, text in long.items()}
    lines = ["| natural texts, damaged | known | store |", "|---|---|---|"]
    results = stitch_files(mixed)
    claims.update(_claims(results, long))
    lines.append(f"| three strategies in one store | | {_share(results, long)} |")
    for cutter in cutters[:2]:
        whole = {name: cutter.cut(text) for name, text in long.items()}
        shuffled = {name: rng.sample(chunks, len(chunks)) for name, chunks in whole.items()}
        gone = {
            name: chunks[:at] + chunks[at + 1 :]
            for name, chunks in whole.items()
            if len(chunks) > 2 and (at := rng.randrange(1, len(chunks) - 1))
        }
        for label, files in (("shuffled", shuffled), ("one chunk missing inside", gone)):
            known, store = stitch_files(files, cutter.strategy), stitch_files(files)
            claims.update(_claims(known, long) + _claims(store, long))
            cells = f"{_share(known, long)} | {_share(store, long)}"
            lines.append(f"| {cutter.name}, {label} | {cells} |")
            if files is gone:
                found = _percent(result.missing > 0 for result in known.values())
                lines.append(f"| {cutter.name}, the gap is found | {found} | |")
    return lines


def _worth(claims: Counter[tuple[str, bool]]) -> list[str]:
    lines = [
        "## What each confidence was worth in these runs",
        "",
        "| confidence | files | wrong |",
    ]
    lines.append("|---|---|---|")
    for confidence in dict.fromkeys(confidence for confidence, _ in claims):
        right, wrong = claims[confidence, True], claims[confidence, False]
        lines.append(f"| {confidence} | {right + wrong} | {wrong} |")
    return lines


def _claims(results: Mapping[str, Stitched], wanted: Corpus) -> Counter[tuple[str, bool]]:
    return Counter(
        (result.confidence, result.text == wanted[name]) for name, result in results.items()
    )


def _share(results: Mapping[str, Stitched], wanted: Corpus) -> str:
    return _percent(result.text == wanted[name] for name, result in results.items())


def _percent(outcomes: Iterable[bool]) -> str:
    seen = list(outcomes)
    return f"{100 * sum(seen) / len(seen):.1f}%" if seen else ""


def longest(chunks: Sequence[str]) -> str:
    """Each pair's longest overlap, as one would do it first."""
    parts = [chunks[0]]
    for left, right in pairwise(chunks):
        border = next(borders(left, right), None)
        parts.append(right[border.length + border.lead :] if border else "\n" + right)
    return "".join(parts)


def literal(files: Chunks) -> dict[str, str]:
    """The first specification: one overlap for the store, measured on its first pair."""
    pair = next((chunks for chunks in files.values() if len(chunks) > 1), None)
    border = next(borders(pair[0], pair[1]), None) if pair else None
    overlap = border.length + border.lead if border else 0
    return {name: stitch_chunks(chunks, overlap) for name, chunks in files.items()}


if __name__ == "__main__":
    main()
