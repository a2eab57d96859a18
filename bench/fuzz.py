"""Fuzz stitching: many files, cut in many ways, some damaged; none may be falsely sure.

    python -m bench.fuzz [--files 20000] [--seed 1] [--seconds 3000]

Each file is a random piece of a real or a hard text, cut by a random strategy, and left
whole, stripped, squeezed in one way or another, shuffled, with one chunk missing, or in a
store with others. It counts what each confidence was worth. A `verified` file that differs
from its original is printed, and the exit status is 1. A missing first
chunk leaves no trace, so it is told, as whoever numbers chunks can; `beheaded` counts what
happens where it is not.
"""

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from unchunk import ChunkingStrategy, stitch, stitch_files
from unchunk.domain import Unit
from unchunk.text.tokens import get_encoding

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import corpus
from foreign import collapse, keep, strip

_OPENAI = [(800, 400), (1600, 800), (512, 64), (100, 50), (300, 0), (400, 100), (256, 32)]
_DAMAGES = [
    "whole",
    "whole",
    "whole",
    "stripped",
    "left-stripped",
    "right-stripped",
    "squeezed",
    "collapsed",
    "no blank lines",
    "shuffled",
    "missing",
    "unknown",
]


_LEAVES: dict[str, Callable[[str], str]] = {
    "stripped": strip,
    "left-stripped": str.lstrip,
    "right-stripped": str.rstrip,
    "squeezed": partial(re.sub, r"\s+", " "),
    "collapsed": collapse,
    "no blank lines": partial(re.sub, r"\n{2,}", "\n"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3000)
    options = parser.parse_args()
    counts, false = run(options.files, options.seed, options.seconds)
    print(f"{'confidence':<12}{'files':>8}{'right':>8}{'wrong':>8}{'wrong %':>9}")
    for confidence, (right, wrong) in counts.items():
        total = right + wrong
        print(f"{confidence:<12}{total:>8}{right:>8}{wrong:>8}{wrong / total:>9.3%}")
    results = Path(__file__).parent / "results" / "fuzz.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps({"counts": counts, "false": false}, indent=1) + "\n", "utf-8")
    unseen, tried = beheaded()
    print(f"first chunk missing and not told: {unseen} of {tried} are falsely sure")
    for case in false:
        print("falsely sure:", json.dumps(case, ensure_ascii=False))
    return 1 if any(case["confidence"] == "verified" for case in false) else 0


Case = dict[str, str | int | None]


def run(files: int, seed: int, seconds: float) -> tuple[dict[str, tuple[int, int]], list[Case]]:
    """How many files of each confidence were right and wrong, and the ones falsely sure."""
    rng = random.Random(seed)
    texts = [*corpus.natural(), *corpus.generated()] if corpus.DATA.exists() else corpus.generated()
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    false: list[Case] = []
    began, done = time.monotonic(), 0
    while done < files and time.monotonic() - began < seconds:
        for confidence, good, case in _store(rng, texts):
            done += 1
            (right if good else wrong)[confidence] += 1
            if not good and confidence in ("verified", "consensus", "exact"):
                false.append({"confidence": confidence, **case})
    order = sorted({*right, *wrong}, key=lambda name: -(right[name] + wrong[name]))
    return {name: (right[name], wrong[name]) for name in order}, false


def beheaded() -> tuple[int, int]:
    """How many natural texts are sure without their first chunk, of how many."""
    strategy = ChunkingStrategy()
    found = Counter(
        stitch(cut[1:], strategy).confidence in ("verified", "consensus", "exact")
        for _, text in corpus.natural()
        if len(cut := _cut(text, strategy)) > 2
    )
    return found[True], found.total()


def _store(
    rng: random.Random, texts: "tuple[corpus.Text, ...] | list[corpus.Text]"
) -> Iterator[tuple[str, bool, Case]]:
    """Stitch one store of one to six files; all are cut alike, or each as it comes."""
    mixed = rng.random() < 0.2
    shared = _strategy(rng)
    damage = rng.choice(_DAMAGES)
    originals: dict[str, str] = {}
    chunks: dict[str, list[str]] = {}
    cuts: dict[str, ChunkingStrategy] = {}
    strategies: dict[str, ChunkingStrategy | None] = {}
    starts: dict[str, bool | None] = {}
    for at in range(rng.choice([1, 1, 2, 6])):
        name, text = rng.choice(texts)
        text = _piece(rng, text)
        if rng.random() < 0.3:
            text += "\n" + _piece(rng, rng.choice(texts)[1])
        if rng.random() < 0.6:
            # All kinds of white space, so that it does not keep the result from being sure.
            text = f"\t{text} \n\n"
        strategy = _strategy(rng) if mixed else shared
        key = f"{at} {name}"
        cuts[key] = strategy
        cut = _cut(text, strategy)
        left = _LEAVES.get(damage, keep)
        originals[key] = text
        chunks[key], starts[key] = _damage(rng, [left(chunk) for chunk in cut], damage)
        strategies[key] = None if damage == "unknown" or rng.random() < 0.3 else strategy
    for key, result in stitch_files(chunks, strategies, from_start=starts).items():
        case: Case = {
            "file": key, "damage": damage, "chunks": len(chunks[key]), "cut": str(cuts[key]),
            "given": str(strategies[key]),
            "found": str(result.strategy), "characters": len(originals[key]),
        }  # fmt: skip
        yield result.confidence, result.text == originals[key], case


def _strategy(rng: random.Random) -> ChunkingStrategy:
    if rng.random() < 0.5:
        size, overlap = rng.choice(_OPENAI)
        return ChunkingStrategy("tokens", size, overlap)
    unit: Unit = rng.choice(["tokens", "words", "chars"])
    size = rng.randint(10, 600) * (5 if unit == "chars" else 1)
    return ChunkingStrategy(unit, size, rng.choice([0, size // 2, size // 10, rng.randrange(size)]))


def _piece(rng: random.Random, text: str) -> str:
    length = rng.choice([200, 2_000, 8_000, 20_000])
    begin = rng.randrange(max(1, len(text) - length))
    return text[begin : begin + length] or "?"


def _cut(text: str, strategy: ChunkingStrategy) -> list[str]:
    size, overlap, stride = strategy.size, strategy.overlap, strategy.stride
    if strategy.unit == "words":
        words = text.split()
        return [
            " ".join(words[at : at + size]) for at in range(0, max(1, len(words) - overlap), stride)
        ]
    if strategy.unit == "chars":
        return [text[at : at + size] for at in range(0, max(1, len(text) - overlap), stride)]
    encoding = get_encoding(strategy.encoding)
    ids = encoding.encode(text)
    return [
        encoding.decode(ids[at : at + size]) for at in range(0, max(1, len(ids) - overlap), stride)
    ]


def _damage(rng: random.Random, chunks: list[str], damage: str) -> tuple[list[str], bool | None]:
    """The chunks damaged, and what is known of the first one."""
    chunks = list(chunks)
    if damage == "shuffled":
        rng.shuffle(chunks)
    if damage == "missing" and len(chunks) > 2:
        gone = rng.randrange(len(chunks))
        del chunks[gone]
        return chunks, None if gone else False
    return chunks, rng.choice([True, None])


if __name__ == "__main__":
    sys.exit(main())
