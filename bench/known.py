"""Real sets in a library of ours: their texts, their chunks, and where the answers stand."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.vectors import KeptVectors
from unchunk.domain import EmbedderIdentity
from unchunk.engine import Engine
from unchunk.evaluation.questions import Question, QuestionSet, Range
from unchunk.evaluation.running import fill
from unchunk.library.layout import embedded_text
from unchunk.ports import Embedder
from unchunk.settings import Settings
from unchunk.wiring import libraries as wiring

DATA = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Known:
    """`chunks` are ours, and `said` what of each is embedded; `ids` by the names in the library."""

    asked: QuestionSet
    ids: Mapping[str, str]
    texts: Mapping[str, str]
    chunks: Sequence[Range]
    said: Sequence[str]


@asynccontextmanager
async def library(home: Path, vectors: KeptVectors) -> AsyncIterator[Engine]:
    """With default settings, but for where its vectors are kept."""

    async def make(
        settings: Settings,  # noqa: ARG001 -- as the wiring calls it
        spec: str,  # noqa: ARG001
        known: EmbedderIdentity | None,  # noqa: ARG001
    ) -> Embedder:
        return vectors

    usual = wiring.make_embedder  # type: ignore[attr-defined]  # it is imported there
    wiring.make_embedder = make  # type: ignore[attr-defined]
    try:
        async with await wiring.open_engine(Settings(home)) as engine:
            yield engine
    finally:
        wiring.make_embedder = usual  # type: ignore[attr-defined]


async def known(engine: Engine, asked: QuestionSet) -> Known:
    """The set in the library, which is filled where that was not done yet."""
    ids = (await fill(engine, asked)).ids
    texts, chunks, said = {}, [], []
    for name, one in ids.items():
        texts[one] = await engine.text(name)
        for chunk, _ in await engine.chunks(name):
            chunks.append(Range(one, chunk.start, chunk.end))
            said.append(embedded_text(texts[one], chunk))
    if asked.kind == "pages":
        asked = quoted(asked, texts)
    return Known(asked, ids, texts, chunks, said)


def quoted(asked: QuestionSet, texts: Mapping[str, str]) -> QuestionSet:
    """FinanceBench, whose evidence is quoted: the ranges are where the quotations stand.

    A quotation's letters and digits, all of them and in their order, are looked for in the text of
    its PDF; white space and signs are as the extractor has them. A question counts if each of its
    quotations stands in one place.
    """
    plain = {one: _plain(text) for one, text in texts.items()}
    found: dict[str, list[list[Range]]] = {}
    path = DATA / asked.name / "data" / "financebench_open_source.jsonl"
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        evidence = [(one["doc_name"], one["evidence_text"]) for one in record["evidence"]]
        places = [place for name, text in evidence for place in _places(name, text, plain)]
        if len(places) == len(evidence):
            found.setdefault(record["question"], []).append(places)
    questions = tuple(
        Question(one.text, one.grades, tuple(found[one.text][0]))
        for one in asked.questions
        if len(found.get(one.text, ())) == 1
    )
    note = f"the evidence of {len(questions)} of {len(asked.questions)} questions was found"
    return replace(asked, kind="characters", questions=questions, notes=(*asked.notes, note))


def _plain(text: str) -> tuple[str, list[int]]:
    """The letters and digits, and where each of them stands."""
    at = [place for place, one in enumerate(text) if one.isalnum()]
    return "".join(text[place] for place in at), at


def _places(name: str, quoted: str, plain: Mapping[str, tuple[str, list[int]]]) -> list[Range]:
    """Where it stands, if that is one place."""
    wanted, _ = _plain(quoted)
    text, at = plain.get(name, ("", []))
    if not wanted or text.count(wanted) != 1:
        return []
    first = text.index(wanted)
    return [Range(name, at[first], at[first + len(wanted) - 1] + 1)]
