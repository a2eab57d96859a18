"""Texts to take in: real sentences, in documents that are put together of them."""

import json
import random
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import debian

TEXTS = Path(__file__).parents[2] / "shared" / "data" / "texts"
# With 1000 characters and an overlap of 150, about 75 chunks.
CHARACTERS = 50_500


def sentences() -> list[str]:
    """Of Moby Dick, seventy years of speeches and Debian's documentation, as far as they are there.

    Where none is, they are made up.
    """
    found: list[str] = []
    for text in _texts():
        plain = " ".join(text.split())
        found += [one for one in re.split(r"(?<=[.!?])\s+", plain) if 20 < len(one) < 600]
    if found:
        return found
    rng = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(20_000)]
    rarity = [1 / (rank + 3) for rank in range(len(words))]
    return [
        " ".join(rng.choices(words, rarity, k=rng.randint(6, 30))).capitalize() + "."
        for _ in range(20_000)
    ]


def _texts() -> Iterator[str]:
    for path in sorted((TEXTS / "moby-dick").glob("chapter_*.json")):
        yield json.loads(path.read_text("utf-8"))["text"]
    speeches = TEXTS / "nltk" / "state_union.zip"
    if speeches.exists():
        with zipfile.ZipFile(speeches) as opened:
            for name in sorted(opened.namelist()):
                if name.endswith(".txt"):
                    yield opened.read(name).decode("cp1252", "replace")
    yield from debian.texts()


def write_documents(
    folder: Path, names: Sequence[str], pool: Sequence[str], seed: int, size: int = CHARACTERS
) -> None:
    """Sentences in an order of their own for each document, so that no two chunks are alike."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    for name in names:
        parts: list[str] = []
        length = 0
        while length < size:
            parts.append(" ".join(rng.choices(pool, k=rng.randint(2, 7))))
            length += len(parts[-1]) + 2
        (folder / name).write_text("\n\n".join(parts), "utf-8")
