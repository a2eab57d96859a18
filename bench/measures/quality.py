"""How well questions are answered, beside the peers: same texts, same model, same questions."""

import asyncio
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from bench.contexts import Outcome, as_many, counting, outcome
from bench.figures import OURS, Better, Cell, Row, Table
from bench.known import DATA, Known, known, library
from bench.libraries import mark_of, source
from bench.machine import OWN
from bench.paired import SURE, behind, differences
from bench.peers.quality_asked import FEW, grown
from bench.rivals import answers
from bench.running import Run
from bench.vectors import KeptVectors
from unchunk.chat.parts import usual_amount
from unchunk.engine import Engine
from unchunk.evaluation.layouts import (
    anthropic_docs,
    beir,
    chunking_evaluation,
    financebench,
    inscit,
)
from unchunk.evaluation.measures import mean, ndcg, recall
from unchunk.evaluation.questions import Question, QuestionSet, Range
from unchunk.evaluation.running import alone, ask
from unchunk.retrieval.amount import Amount
from unchunk.settings import Settings
from unchunk.text.tokens import get_encoding
from unchunk.wiring import make_embedder

SCAN, IDEAL = "exact scan", "ideal"
NEVER = {
    "RAGLite": "it fetches parts of its database from the network when it is opened",
    "haiku.rag": "it fetches a vocabulary from the network when it is imported",
}
BUDGETS = (500, 1000, 2000)
SAMPLE = 40

DOCUMENTS: dict[str, Callable[[Path], QuestionSet]] = {
    "scifact": beir,
    "anthropic_docs": anthropic_docs,
    "inscit": inscit,
}
SPANS: dict[str, Callable[[Path], QuestionSet]] = {
    "chunking_evaluation": chunking_evaluation,
    "financebench": financebench,
}
_NEARLY = 0.95
_SMALL = ("anthropic_docs", "chunking_evaluation")
_SAME = (
    " The peers' own code searches by words, fuses, merges and widens; what is nearest in meaning is"
    " found for all by an exact scan of the same vectors, which is a contestant too. Below the table"
    " is how sure each difference is: its mean over the questions, the 95% interval of the paired"
    " bootstrap, and p of the paired randomisation test, not corrected for how many there are."
)
_DOCUMENTS = (
    "Which documents answer is known. Ours is a library with default settings, asked as a user asks;"
    " the peers rank the same chunks, with the same model's vectors, and search by words beside it, as"
    " their pages advise. In a conversation, ours is given what was said before; the peers, whose"
    " ways with it need a chat model, are asked the question alone. All of these sets were in view when our"
    " defaults were chosen: other sets decide."
)
_SPANS = (
    "Which characters answer is known; recall is how many of them are in the context. Ours has a"
    " budget of tokens, or is as a chat model is given it, where what is worth too little is left out."
    " On each question a peer shows as many tokens as ours; between one item less and one more, which"
    " are whole, it is as if a coin chose. A peer of which one item is more than ours in the mean is"
    " left out of the row. Those whose way is to cut by themselves do so, and the same model embeds"
    " what they cut. dsRAG has cosines in place of a reranker of others, which it is made for."
    " chunking_evaluation was in view when our defaults were chosen; FinanceBench was not."
)
_TWICE = (
    "Of a context's characters, the share that it has shown already: of what the peers show for the"
    " best five, and of ours as a chat model is given it."
)

# For each contestant a figure for each question.
Values = dict[str, Sequence[float]]


@dataclass(slots=True)
class Found:
    rows: list[Row] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, what: str, unit: str, values: Values, better: Better = "more") -> None:
        """A row, with the paired differences of ours from each of the others."""
        found = differences({name: it for name, it in values.items() if name != IDEAL})
        ahead = {it: one.turned if better == "more" else one for it, one in found.items()}
        why = " ".join(behind(it, one) for it, one in ahead.items() if one.gain > 0)
        cells = {name: Cell([mean(it)]) for name, it in values.items()}
        floor = IDEAL if IDEAL in values else ""
        level = [name for name, one in found.items() if one.p >= SURE]
        self.rows.append(Row(what, unit, cells, better, floor, why, level))
        told = "; ".join(f"{name} {one}" for name, one in found.items())
        self.differences.append(f"{what}, {len(values[OURS])} questions, ours less theirs: {told}")

    def table(self, title: str, intro: str) -> Table:
        notes = f" Of the sets: {'; '.join(self.notes)}." if self.notes else ""
        command = "python -m bench --only quality"
        missing = NEVER | self.missing
        return Table(title, intro + notes, self.rows, command, self.differences, missing)


def measure(run: Run) -> list[Table]:
    return asyncio.run(_measure(run, [*DOCUMENTS, *SPANS] if not run.is_quick else _SMALL))


async def _measure(run: Run, names: Sequence[str]) -> list[Table]:
    documents, spans, twice = Found(), Found(), Found()
    folder = run.cache / "quality"
    settings = Settings(folder)
    embedder = await make_embedder(settings, settings.embedder, None)
    vectors = KeptVectors(folder / "vectors.sqlite", embedder, run.say)
    try:
        for name in names:
            if not (DATA / name).is_dir():
                run.say(f"{name} is left out: it is not there")
                continue
            run.say(f"{name} ...")
            asked = (DOCUMENTS | SPANS)[name](DATA / name)
            async with library(_anew(folder / name), vectors) as engine:
                it = await known(engine, asked)
                if run.is_quick:
                    it = replace(it, asked=it.asked.sample(SAMPLE))
                if name in DOCUMENTS:
                    await _documents(run, engine, it, vectors, documents)
                else:
                    shares = await _spans(run, engine, it, vectors, spans)
                    twice.add(name, "%", shares, "less")
    finally:
        await vectors.end()
    return [
        documents.table("Finding the right document", _DOCUMENTS + _SAME),
        spans.table("Answers in so many tokens", _SPANS + _SAME),
        twice.table("Characters that a context has twice", _TWICE),
    ]


def _anew(home: Path) -> Path:
    """What it holds was cut and read by an earlier state of ours, unless its mark says otherwise."""
    stamp, mark = home.with_suffix(".made"), mark_of(source(), *map(version, OWN))
    if not stamp.exists() or stamp.read_text("ascii") != mark:
        shutil.rmtree(home, ignore_errors=True)
        stamp.write_text(mark, "ascii")
    return home


async def _documents(
    run: Run, engine: Engine, it: Known, vectors: KeptVectors, found: Found
) -> None:
    found.notes += [f"{it.asked.name}: {note}" for note in it.asked.notes]
    asked = {"": alone(it.asked)}
    if any(question.history for question in it.asked.questions):
        asked[" in a conversation"] = it.asked
    texts = [one.text for one in it.asked.questions]
    given = await answers(run, it, texts, vectors, contexts=False)
    found.missing |= given.missing
    scanned = [[at for at, _ in near] for near in given.near]
    for how, some in asked.items():
        ours = await ask(engine, some, it.ids)
        for measure, value in _MEASURES.items():
            values: Values = {OURS: [one.values[measure] for one in ours.figures]}
            for name, ranked in {SCAN: scanned, **given.ranked}.items():
                orders = [[it.chunks[at].document for at in order] for order in ranked]
                values[name] = list(map(value, orders, some.questions))
            values[IDEAL] = [value(_best(one), one) for one in some.questions]
            found.add(f"{it.asked.name}{how}, {measure}", "of 1", values)


def _best(question: Question) -> list[str]:
    return sorted(question.grades, key=lambda one: -question.grades[one])


_MEASURES: Mapping[str, Callable[[Sequence[str], Question], float]] = {
    "nDCG@10": lambda order, it: ndcg(list(dict.fromkeys(order)), it.grades, 10),
    "recall@3": lambda order, it: recall(list(dict.fromkeys(order)), it.grades, 3),
}


async def _spans(run: Run, engine: Engine, it: Known, vectors: KeptVectors, found: Found) -> Values:
    """Adds the rows on recall; gives the shares of contexts that are there twice, in percent."""
    questions, count = it.asked.questions, counting(it.texts)
    found.notes += [f"{it.asked.name}: {note}" for note in it.asked.notes]
    given = await answers(run, it, [one.text for one in questions], vectors, contexts=True)
    found.missing |= given.missing
    ranked = {SCAN: [[at for at, _ in near] for near in given.near], **given.ranked}
    shown = given.shown | {
        name: [grown([it.chunks[at] for at in order]) for order in orders]
        for name, orders in ranked.items()
    }
    growing = {
        name: [
            [_outcome([Range(*one) for one in context], count, question) for context in contexts]
            for contexts, question in zip(every, questions, strict=True)
        ]
        for name, every in shown.items()
    }
    ideal = [[_outcome(one.ranges, count, one)] for one in questions]
    for how, amount in _amounts().items():
        ours = await _contexts(engine, it, amount)
        size = mean([one.tokens for one in ours])
        what = f"{it.asked.name}, {how}, {size:.0f} tokens: recall"
        every = {OURS: ours}
        for name, contexts in growing.items():
            if mean([one[0].tokens for one in contexts]) > size:
                found.differences.append(f"{what}: one item of {name} is more than that")
                continue
            every[name] = list(map(as_many, contexts, [one.tokens for one in ours]))
            less = mean([one.tokens for one in every[name]])
            if less < _NEARLY * size:
                found.differences.append(f"{what}: {name} has no more than {less:.0f} tokens")
        every[IDEAL] = list(map(as_many, ideal, [one.tokens for one in ours]))
        found.add(what, "of 1", {name: [one.recall for one in it] for name, it in every.items()})
    few = {name: [one[:FEW][-1] for one in contexts] for name, contexts in growing.items()}
    few[OURS] = ours
    return {name: [one.twice * 100 for one in some] for name, some in few.items()}


def _amounts() -> dict[str, Amount]:
    """As a model's context is made, but for the budget; it names no other documents."""
    settings = Settings(Path())
    usual = usual_amount(settings.top_k, settings.max_context_chars)
    count = get_encoding().count
    budgets = {
        f"budget {it}": Amount(chunks_per_doc=None, budget=it, measure=count, also_see=False)
        for it in BUDGETS
    }
    return budgets | {"as a chat has it": replace(usual, also_see=False)}


async def _contexts(engine: Engine, it: Known, amount: Amount) -> list[Outcome]:
    """What is counted is all that is shown, with the marks of gaps."""
    count = get_encoding().count
    made = []
    for question in it.asked.questions:
        evidence = await engine.retrieve(question.text, amount=amount)
        if evidence.notes:
            raise RuntimeError(f"ours is less than it should be: {evidence.notes}")
        shown = [
            Range(it.ids[one.name], passage.start, passage.start + len(passage.text))
            for one in evidence.documents
            for passage in one.passages
        ]
        tokens = sum(count(one.full_content) for one in evidence.documents)
        made.append(outcome(shown, tokens, question.ranges))
    return made


def _outcome(shown: Sequence[Range], count: Callable[[Range], int], it: Question) -> Outcome:
    return outcome(shown, sum(map(count, shown)), it.ranges)
