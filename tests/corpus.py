"""The texts that chunking and stitching are tried on: real ones, and hard ones made here.

Real ones come from the evaluation data beside the checkout and from Python's own library.
Nothing is drawn at random without a seed.
"""

import asyncio
import base64
import email
import html
import importlib
import json
import logging
import random
import unittest
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
MISSING = f"the evaluation data is not at {DATA.relative_to(ROOT.parent)} beside the checkout"

Text = tuple[str, str]


@lru_cache(maxsize=1)
def natural() -> tuple[Text, ...]:
    """At least 500 real texts: prose, papers, Markdown, source, in many scripts."""
    texts = [*_sources(), *_prose(), *_encodings(".txt", ".srt"), *_abstracts()]
    return tuple((name, text) for name, text in texts if text.strip())


@lru_cache(maxsize=1)
def markup() -> tuple[Text, ...]:
    """Real feeds and pages, whose layout is white space that says nothing."""
    return tuple(_encodings(".xml", ".html"))


def _sources() -> Iterator[Text]:
    """Of Python's own library: of this project's, every change would change what is measured."""
    for package in (asyncio, email, html, importlib, json, logging, unittest):
        folder = Path(package.__file__ or "").parent
        for path in sorted(folder.rglob("*.py")):
            yield str(path.relative_to(folder.parent)), path.read_text("utf-8")


def _prose() -> Iterator[Text]:
    for path in sorted((DATA / "texts" / "moby-dick").glob("*.json")):
        chapter = json.loads(path.read_text("utf-8"))
        yield path.name, chapter["text"] if "text" in chapter else json.dumps(chapter, indent=1)
    for path in [
        DATA / "texts" / "commonmark" / "spec.txt",
        *sorted((DATA / "texts" / "debian-reference").glob("*.html")),
        *sorted((DATA / "office_samples").rglob("*.md")),
        *sorted((DATA / "chunking_evaluation" / "corpora").glob("*.md")),
    ]:
        yield path.name, path.read_bytes().decode("utf-8", "replace")
    for archive, step in (("state_union", 1), ("udhr2", 3)):
        with zipfile.ZipFile(DATA / "texts" / "nltk" / f"{archive}.zip") as opened:
            for name in sorted(opened.namelist())[::step]:
                if name.endswith(".txt"):
                    yield name, opened.read(name).decode("utf-8", "replace")


def _encodings(*suffixes: str) -> Iterator[Text]:
    for path in sorted((DATA / "encodings" / "chardet" / "tests").rglob("*")):
        if path.suffix not in suffixes or path.stat().st_size < 2000:
            continue
        encoding = path.parent.name
        for name in (encoding, encoding.rpartition("-")[0]):
            try:
                text = path.read_bytes().decode(name)
            except (LookupError, UnicodeError):
                continue
            yield f"{encoding}/{path.name}", text
            break


def _abstracts() -> Iterator[Text]:
    with (DATA / "scifact" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if len(record["text"]) > 2200:
                yield f"scifact-{record['_id']}", record["text"]


@lru_cache(maxsize=1)
def generated() -> tuple[Text, ...]:
    """Texts that are hard to join: they repeat, or have no words, or no ASCII at all."""
    rng = random.Random(20260202)
    texts: list[Text] = []
    for size in (6_000, 15_000, 40_000):
        for name, text in _hard(rng, size):
            texts.append((f"{name}-{size}", text))
    return tuple(texts)


def _hard(rng: random.Random, size: int) -> Iterator[Text]:
    def fill(line: str) -> str:
        return (line * (size // len(line) + 1))[:size]

    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(400)]
    cjk = [chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(600)]
    emoji = ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "🙂", "❤️", "🏳️‍🌈", "e\u0301", "ก็"]
    yield "rows", fill("2024-01-01,ok,100,EUR\n")
    yield "numbered-rows", "".join(f"{n},ok,{n % 7},EUR\n" for n in range(size // 12))
    yield "one-letter", "a" * size
    yield "blank-lines", fill("one line\n" + "\n" * 300 + "another line\n" + " \n" * 200)
    yield "base64", base64.encodebytes(rng.randbytes(size * 3 // 4)).decode()
    yield "base64-one-line", base64.b64encode(rng.randbytes(size * 3 // 4)).decode()
    records = [{"id": n, "v": rng.random(), "ok": n % 2 == 0} for n in range(size // 45)]
    yield "minified-json", json.dumps(records, separators=(",", ":"))
    yield "dashes", fill("|" + "-" * 30 + "|" + "-" * 12 + "|\n")
    yield "emoji", "".join(rng.choices(emoji, k=size // 3))
    yield "cjk", "".join(rng.choices(cjk, k=size // 2))
    yield "cjk-sentences", "".join(rng.choice(cjk) + "。" * (n % 23 == 0) for n in range(size // 2))
    yield "repeated-paragraph", fill(" ".join(rng.choices(words, k=90)) + ".\n\n")
    yield "log", "".join(f"[info] request {n % 5} served in 12 ms\n" for n in range(size // 36))
    yield "words", " ".join(rng.choices(words, k=size // 6)) + "\n"
    yield "few-words", " ".join(rng.choices(["yes", "no", "maybe"], k=size // 4))
    yield "replacement", "".join(rng.choice(["�", "a", "é", "\n", " "]) for _ in range(size // 2))
    yield "spaces", "".join(rng.choice(["x", " " * rng.randint(1, 60)]) for _ in range(size // 15))
