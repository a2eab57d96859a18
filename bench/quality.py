"""How well questions are answered from so many tokens, beside the peers in the same run.

    python -m bench.quality --cache /tmp/answered
    python -m bench.quality --cache /tmp/answered --peer-python /tmp/peers/bin/python

Each set goes into a library made with default settings, which `retrieve` is asked as a model's
context is made: with budgets of tokens, and without any, where what is worth too little is left
out. The peers cut the very texts of that library and are ranked by meaning alone, with the same
embedder and an exact search, as those who use them do. What answers is known to the character.

All show whole items, so that a budget is never full: what is compared is what is really shown.

- "as many tokens": the peer has the budget with which it shows as many as ours in the mean. Where
  that lies between two budgets, a question counts as if a coin chose one of them.
- "at least as many": on each question the peer's last item goes over ours rather than under.
- "same budget": as many whole items as fit, which may be more or less than ours.
- "at our recall": the peer has the budget with which its mean recall is ours; IoU is compared.
  There is no such row where all that is ranked of a peer is not enough.
- "by a stop": the peer has no budget; it stops at a share of its best cosine, which is chosen in
  hindsight for the same mean. Nobody ships this: it tells what of our gain is the stop alone.

p is the paired randomisation test, in brackets is the 95% bootstrap interval of the difference.

chunking_evaluation had a say in our defaults (docs/decisions/0010). FinanceBench had none: there,
an evidence's letters and digits, all of them and in their order, are looked for in the text of
its PDF; white space and signs are as the extractor has them.

LangChain's splitters and LlamaIndex are in the extra `dev`. Haystack, whose window is looked at
for what it repeats, is in no extra: `pip install haystack-ai` in an environment of its own.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.peers.quality_beside import TOPS, Row, beside, told, twice, verdict
from bench.peers.quality_cut import CUTTERS, HAYSTACK, PREV_NEXT, Hit, Item
from bench.peers.quality_rank import Hits, KeptVectors, Outcome, Peer, outcome, rank
from unchunk.engine import Engine
from unchunk.evaluation.layouts import chunking_evaluation, financebench
from unchunk.evaluation.measures import mean
from unchunk.evaluation.questions import Question, QuestionSet, Range
from unchunk.evaluation.running import TOKENS, fill
from unchunk.retrieval.amount import Amount
from unchunk.settings import load
from unchunk.text.tokens import get_encoding
from unchunk.wiring import make_embedder, open_engine

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "quality.json"
STOPS = (0.6, 0.7)
# The two that only widen are looked at for what they repeat.
RANKED = tuple(one for one in CUTTERS if one not in (PREV_NEXT, HAYSTACK))


class Known(NamedTuple):
    """A set in a library: the texts are the library's own, and the ranges are theirs."""

    texts: dict[str, str]
    questions: list[Question]
    ids: Mapping[str, str]
    note: str


@dataclass(slots=True)
class Report:
    questions: int
    notes: list[str]
    rows: list[Row] = field(default_factory=list)
    twice: dict[str, float] = field(default_factory=dict)


# The sets


async def characters(engine: Engine, asked: QuestionSet) -> Known:
    filled = await fill(engine, asked)
    texts = {one: await engine.text(name) for name, one in filled.ids.items()}
    return Known(texts, list(asked.questions), filled.ids, "")


async def evidence(engine: Engine, asked: QuestionSet) -> Known:
    """FinanceBench, whose evidence is quoted: the ranges are where the quotations stand."""
    filled = await fill(engine, asked)
    texts = {one: await engine.text(name) for name, one in filled.ids.items()}
    plain = {one: _plain(text) for one, text in texts.items()}
    found: dict[str, list[list[Range]]] = {}
    path = DATA / asked.name / "data" / "financebench_open_source.jsonl"
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        quoted = [(one["doc_name"], one["evidence_text"]) for one in record["evidence"]]
        places = [place for name, text in quoted for place in _places(name, text, plain)]
        if len(places) == len(quoted):
            found.setdefault(record["question"], []).append(places)
    questions = [
        Question(one.text, one.grades, tuple(found[one.text][0]))
        for one in asked.questions
        if len(found.get(one.text, ())) == 1
    ]
    note = f"the evidence of {len(questions)} of {len(asked.questions)} questions was found"
    return Known(texts, questions, filled.ids, note)


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


SETS = {
    "chunking_evaluation": (chunking_evaluation, characters),
    "financebench": (financebench, evidence),
}


# Ours and the peers


async def ask(engine: Engine, known: Known, amount: Amount, modes: Counter[str]) -> list[Outcome]:
    """What is counted is all that is shown, with the marks of gaps."""
    count = get_encoding().count
    outcomes = []
    for question in known.questions:
        found = await engine.retrieve(question.text, amount=amount)
        modes[found.plan.mode] += 1
        if found.notes:
            raise SystemExit(f"ours is less than it should be: {found.notes}")
        shown = [
            Range(known.ids[one.name], it.start, it.start + len(it.text))
            for one in found.documents
            for it in one.passages
        ]
        tokens = sum(count(one.full_content) for one in found.documents)
        outcomes.append(outcome(shown, tokens, question.ranges))
    return outcomes


def conditions() -> dict[str, Amount]:
    """As a model's context is made, but for the budget; it names no other documents."""
    count = get_encoding().count
    budgets = {
        f"budget {it}": Amount(chunks_per_doc=None, budget=it, measure=count, also_see=False)
        for it in TOKENS
    }
    stops = {f"stop {it}": Amount(chunks_per_doc=None, stop=it, also_see=False) for it in STOPS}
    return budgets | stops


def peers_do(
    what: Mapping[str, Any], wanted: Sequence[str], pythons: Sequence[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What the peers made, each in the first interpreter that has it, and which none has."""
    made: dict[str, Any] = {}
    missing = dict.fromkeys(wanted, "")
    for python in pythons:
        if not missing:
            break
        with TemporaryDirectory(prefix="unchunk-quality-") as folder:
            asked, answer = Path(folder, "asked.json"), Path(folder, "answer.json")
            asked.write_text(json.dumps({**what, "peers": list(missing)}), "utf-8")
            module = "bench.peers.quality_cut"
            subprocess.run([python, "-m", module, asked, answer], cwd=ROOT, check=True)
            said = json.loads(answer.read_text("utf-8"))
        made |= said["made"]
        missing = said["missing"]
    return made, missing


async def measure(name: str, cache: Path, pythons: Sequence[str]) -> Report:
    read, locate = SETS[name]
    settings = load(cache / name, {})
    async with await open_engine(settings) as engine:
        asked = read(DATA / name)
        known = await locate(engine, asked)
        modes: Counter[str] = Counter()
        ours = {
            condition: await ask(engine, known, amount, modes)
            for condition, amount in conditions().items()
        }
    notes = [*asked.notes, known.note] if known.note else [*asked.notes]
    report = Report(len(known.questions), notes)
    report.notes.append(f"modes of our searches: {dict(modes)}")
    cut, missing = peers_do({"texts": known.texts}, list(CUTTERS), pythons)
    report.notes += [f"{peer} is left out: {why}" for peer, why in missing.items()]
    embedder = await make_embedder(settings, settings.embedder, None)
    peers: dict[str, Peer] = {}
    hits: dict[str, Hits] = {}
    try:
        with KeptVectors(cache / "vectors.sqlite", embedder) as vectors:
            for peer, items in cut.items():
                peers[peer], hits[peer] = await rank(
                    peer, _items(items), known.texts, known.questions, vectors
                )
    finally:
        await embedder.close()
    ranked = [peers[one] for one in RANKED if one in peers]
    report.rows = [row for it in ours for row in beside(it, ours[it], ranked)]
    report.twice = twice(ours, ranked) | widened(known, hits, pythons)
    return report


def _items(made: Mapping[str, Iterable[Sequence[int]]]) -> dict[str, list[Item]]:
    return {
        document: [(start, end, first, last) for start, end, first, last in items]
        for document, items in made.items()
    }


def widened(known: Known, hits: Mapping[str, Hits], pythons: Sequence[str]) -> dict[str, float]:
    """The same of those that widen what they found, by their own code."""
    wanted = [one for one in (PREV_NEXT, HAYSTACK) if one in hits]
    shares = {}
    for top in TOPS:
        best: dict[str, list[list[Hit]]] = {
            peer: [one[:top] for one in hits[peer]] for peer in wanted
        }
        made, _ = peers_do({"texts": known.texts, "hits": best}, wanted, pythons)
        for peer, contexts in made.items():
            shown = [[Range(*one) for one in context] for context in contexts]
            shares[f"{peer}, best {top}"] = mean([outcome(one, 0, ()).share for one in shown])
    return shares


# Telling


def tell(name: str, report: Report) -> None:
    print(f"\n{name}: {report.questions} questions")
    for note in report.notes:
        print(f"  ({note})")
    wide = max(len(row.way) for row in report.rows)
    for condition in dict.fromkeys(row.condition for row in report.rows):
        print(f"\n{condition:{wide}}  tokens recall precis.    IoU  twice  ours less this one")
        for row in report.rows:
            if row.condition == condition:
                print(
                    f"{row.way:{wide}} {row.tokens:7.0f} {row.recall:6.3f} {row.precision:7.3f}"
                    f" {row.iou:6.3f} {row.share:6.1%}  {told(row)}".rstrip()
                )
    print("\nof a context's characters, these had been shown already:")
    for way, share in sorted(report.twice.items(), key=lambda one: one[1]):
        print(f"  {share:6.1%}  {way}")
    for line in verdict(report.rows):
        print(line)


def note(name: str, report: Report) -> None:
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept[name] = {
        "questions": report.questions,
        "notes": report.notes,
        "rows": [
            {one: getattr(row, one) for one in Row.__slots__ if getattr(row, one) is not None}
            for row in report.rows
        ],
        "twice": report.twice,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.quality", description="Answers beside peers.")
    parser.add_argument("--cache", type=Path, required=True, help="where libraries are kept")
    parser.add_argument("--set", choices=tuple(SETS), help="only this one")
    parser.add_argument("--peer-python", help="an interpreter that has what this one has not")
    arguments = parser.parse_args()
    cache = arguments.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    pythons = [sys.executable, *([arguments.peer_python] if arguments.peer_python else [])]
    for name in [arguments.set] if arguments.set else SETS:
        if not (DATA / name).is_dir():
            print(f"{name} is left out: there is no {DATA / name}")
            continue
        report = asyncio.run(measure(name, cache, pythons))
        tell(name, report)
        note(name, report)


if __name__ == "__main__":
    main()
