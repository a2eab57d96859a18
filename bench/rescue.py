"""Files into vector stores and back out of them, over real sockets: `python -m bench.rescue`.

Every text file of the evaluation data, SciFact's abstracts, the reports of FinanceBench and this
project's own source go into one store of a real server, by the official SDK, cut in five ways. Then
`unchunk recover` gets them back from the chunks alone, and each is compared byte for byte: with
the file where it is plain text, with the text that the library keeps where it is a PDF or a page.

Then the same through a proxy that hides how files were cut, and strips, shuffles or drops chunks.

The exit status is 1 if a file whose strategy is known does not come back, or if any file that is
called sure differs. `--every N` takes each N-th file.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from openai import AsyncOpenAI
from openai.types import StaticFileChunkingStrategyObjectParam
from openai.types.vector_stores.file_batch_create_params import File

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from bench.damage import DAMAGES, damaging
from bench.users import address, serving
from corpus import DATA, ROOT

_STRATEGIES = ((800, 400), (1600, 800), (512, 64), (400, 100), (100, 50))
_IN_FLIGHT, _MOST_IN_BATCH = 8, 500
# What promises that nothing is missing or wrong.
_SURE = frozenset({"verified", "consensus", "exact"})
_OWN, _SOURCE = ("src", "tests", "bench", "docs"), (".py", ".md", ".js", ".css", ".mjs")
_RENDERED = frozenset({".pdf", ".html"})


class Original(NamedTuple):
    name: str
    content: bytes


@dataclass(frozen=True)
class Kept:
    """A file in the store: what must come back, and how it was cut."""

    text: str = field(repr=False)
    size: int
    overlap: int

    @property
    def is_half_shared(self) -> bool:
        return self.overlap * 2 == self.size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    originals = list(_originals())[::every]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = {"UNCHUNK_EMBEDDER": "hashing", "UNCHUNK_RATE_LIMIT": "0"}
        with serving(place / "home", environment) as server:
            url = address(server)
            began = time.perf_counter()
            store, kept = asyncio.run(_filled(url, originals))
            print(f"{len(originals)} files in the store, {time.perf_counter() - began:.0f} s")
            rows = [_measured("as the server tells", url, store, kept, place / "told")]
            for at, (label, damage) in enumerate(DAMAGES.items()):
                with damaging(url, damage) as proxy:
                    rows.append(_measured(label, proxy, store, kept, place / str(at)))
    print("\n".join(_table(rows)))
    results = ROOT / "bench" / "results" / "rescue.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8")
    told, *_ = rows
    return 0 if told.whole == told.files and not any(row.falsely_sure for row in rows) else 1


def _originals() -> Iterator[Original]:
    yield from _texts()
    with (DATA / "scifact" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            yield Original(f"scifact/{record['_id']}.txt", record["text"].encode())
    for path in sorted((DATA / "financebench" / "pdfs").glob("*.pdf")):
        yield Original(path.name, path.read_bytes())
    for path in sorted(one for name in _OWN for one in (ROOT / name).rglob("*")):
        if path.suffix in _SOURCE:
            yield Original(str(path.relative_to(ROOT)), path.read_bytes())


def _texts() -> Iterator[Original]:
    for path in sorted((DATA / "texts").rglob("*.*")):
        if path.suffix != ".zip":
            yield Original(str(path.relative_to(DATA)), path.read_bytes())
            continue
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith("/"):
                    yield Original(f"{path.stem}/{name}", archive.read(name))


async def _filled(url: str, originals: Sequence[Original]) -> tuple[str, dict[str, Kept]]:
    """The store, and what must come back of each file, by its id."""
    slots = asyncio.Semaphore(_IN_FLIGHT)
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=5) as client:

        async def upload(original: Original) -> str:
            async with slots:
                name = original.name.replace("/", "-")
                made = await client.files.create(
                    file=(name, original.content), purpose="assistants"
                )
                return made.id

        ids = await asyncio.gather(*map(upload, originals))
        store = await client.vector_stores.create(name="everything")
        files: list[File] = []
        for at, one in enumerate(ids):
            size, overlap = _STRATEGIES[at % len(_STRATEGIES)]
            static = {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap}
            strategy = StaticFileChunkingStrategyObjectParam(type="static", static=static)  # type: ignore[typeddict-item] # the numbers are what it wants
            files.append({"file_id": one, "chunking_strategy": strategy})
        for at in range(0, len(files), _MOST_IN_BATCH):
            batch = await client.vector_stores.file_batches.create_and_poll(
                store.id, files=files[at : at + _MOST_IN_BATCH]
            )
            print(f"batch {at // _MOST_IN_BATCH}: {batch.file_counts.to_dict()}", file=sys.stderr)
        failed = [
            one.id
            async for one in client.vector_stores.files.list(store.id, filter="failed", limit=100)
        ]
    kept = {}
    async with httpx2.AsyncClient(base_url=url, timeout=120) as plain:
        for at, (one, original) in enumerate(zip(ids, originals, strict=True)):
            if one in failed:
                print(f"not taken in: {original.name}", file=sys.stderr)
                continue
            text = await _wanted(plain, one, original)
            kept[one] = Kept(text, *_STRATEGIES[at % len(_STRATEGIES)])
    return store.id, kept


async def _wanted(client: httpx2.AsyncClient, file: str, original: Original) -> str:
    """The file itself, if that is its text."""
    if Path(original.name).suffix not in _RENDERED:
        with suppress(UnicodeDecodeError):
            return original.content.decode()
    document = file.removeprefix("file-")
    answer = await client.get(f"/api/documents/{document}/text", params={"format": "plain"})
    return answer.raise_for_status().content.decode()


@dataclass(frozen=True)
class Row:
    """What came back of a store; `whole` counts what is the same, byte for byte.

    `missed` are the files of which all is in the chunks, and that did not come back, by strategy.
    """

    label: str
    files: int
    long: int
    whole: int
    whole_long: int
    possible: int
    missed: dict[str, int]
    falsely_sure: int
    verdicts: dict[str, int]
    seconds: float


def _measured(label: str, url: str, store: str, kept: dict[str, Kept], output: Path) -> Row:
    began = time.perf_counter()
    files = _recovered(url, store, output)
    seconds = time.perf_counter() - began
    same: dict[str, bool] = {}
    missed: Counter[str] = Counter()
    falsely_sure = possible = 0
    for name, wanted in kept.items():
        one = files[name]
        text = wanted.text.strip() if "stripped" in label else wanted.text
        same[name] = Path(one["output"]).read_bytes() == text.encode()
        # Where half is shared, a chunk that is gone stands in its neighbours.
        is_possible = "missing" not in label or wanted.is_half_shared or one["chunks"] < 2
        possible += is_possible
        if not same[name] and is_possible:
            missed[f"{wanted.size}/{wanted.overlap}"] += 1
            print(f"{label}: {wanted}: {one['name']}: {one['verdict']}", file=sys.stderr)
        if not same[name] and one["verdict"] in _SURE:
            falsely_sure += 1
            print(f"FALSELY SURE: {one['name']}", file=sys.stderr)
    long = [name for name in kept if files[name]["chunks"] > 1]
    return Row(
        label,
        len(kept),
        len(long),
        sum(same.values()),
        sum(same[name] for name in long),
        possible,
        dict(missed),
        falsely_sure,
        dict(Counter(one["verdict"] for one in files.values()).most_common()),
        seconds,
    )


def _recovered(url: str, store: str, output: Path) -> dict[str, dict[str, Any]]:
    """What the command reports of each file, by its id."""
    command = [sys.executable, "-m", "unchunk", "recover", "--vector-store", store]
    command += ["--base-url", f"{url}/v1", "--output", str(output), "--suffix", "", "--verify"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=_environment(), timeout=3600
    )
    if not (output / "recovery.json").exists():
        raise SystemExit(f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    report = json.loads((output / "recovery.json").read_text("utf-8"))
    return {one["id"]: one for one in report["files"]}


def _environment() -> dict[str, str]:
    return {"OPENAI_API_KEY": "none", "PATH": "/usr/bin:/bin"}


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield "| chunks | files, of several chunks | back, byte for byte | of several | where possible | falsely sure | verdicts |"
    yield "|" + "---|" * 7
    for row in rows:
        verdicts = ", ".join(f"{many} {one}" for one, many in row.verdicts.items())
        there = row.possible - sum(row.missed.values())
        cells = (
            row.label,
            f"{row.files}, {row.long}",
            f"{100 * row.whole / row.files:.1f}%",
            f"{100 * row.whole_long / max(1, row.long):.1f}%",
            f"{100 * there / row.possible:.1f}%",
            str(row.falsely_sure),
            verdicts,
        )
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
