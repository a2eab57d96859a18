"""Questions that need whole documents: is what they need in the evidence that a model is sent?

    python -m bench.full_documents [QUESTIONS.json] [--embedder ...] [--home ...] [--show]
                                   [--output RESULTS.json] [--against EARLIER.json]

Asks about the beginnings, middles and endings of long documents, asks for summaries, and asks
follow-ups of answers that cited one document. No model judges anything: a question is right if

- beginning, middle, ending: each span that answers it stands in one passage of its document;
- summary: the evidence has the document's opening, its ending or a mark behind the last passage,
  two thirds of its headings, and takes two thirds of the budget where the document is longer;
- follow-up: the document that was cited comes first, as a full document or an excerpt of one;
- new topic: what answers it stands in the evidence although the last answer cited another document.

Follow-ups and new topics are asked in a kept conversation and with their messages sent along. A
question is right only if the evidence keeps to its budget.

A list of questions is JSON such as `full_documents.json`: documents under `data` (default: the
evaluation data beside the checkout), and questions about them.
`--against` compares with the results of an earlier version, question by question.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from adapters.llm.scripted import ScriptedModel, answer
from bench.paired import difference
from corpus import DATA
from unchunk.chat.explaining import Explanation
from unchunk.chat.request import NEW, ChatRequest
from unchunk.engine import Engine
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.settings import Settings, load
from unchunk.wiring import open_engine

QUESTIONS = Path(__file__).with_suffix(".json")
RESULTS = Path(__file__).parent / "results" / "full_documents.json"
# What of a document counts as its opening and as its ending.
_EDGE = 300
_MOST = 2 / 3


@dataclass(frozen=True, slots=True)
class Source:
    """A document of the list: `part` is a member of a ZIP file or a field of a JSON file."""

    name: str
    path: str
    part: str = ""
    headings: Sequence[str] = ()

    def content(self, data: Path) -> bytes:
        path = data / self.path
        if path.suffix == ".zip" and self.part:
            with zipfile.ZipFile(path) as opened:
                return opened.read(self.part)
        if self.part:
            return str(json.loads(path.read_text("utf-8"))[self.part]).encode()
        return path.read_bytes()


@dataclass(frozen=True, slots=True)
class Question:
    """`cites` is a span of the chunk that the answer to `first` cites; it is in `cited`, else in
    `document`.
    """

    kind: str
    document: str
    question: str
    spans: Sequence[str] = ()
    first: str = ""
    cites: str = ""
    cited: str = ""

    @property
    def source(self) -> str:
        return self.cited or self.document


class Asked(NamedTuple):
    """`why` it is wrong; empty if it is right."""

    kind: str
    question: Question
    why: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("questions", nargs="?", type=Path, default=QUESTIONS)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--home", type=Path, help="a library to keep for the next time")
    parser.add_argument("--embedder", default="", help="default: the usual one")
    parser.add_argument("--show", action="store_true", help="say what is wrong, and why")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the results go")
    parser.add_argument("--against", type=Path, help="the results of an earlier version")
    options = parser.parse_args()
    given = json.loads(options.questions.read_text("utf-8"))
    sources = [Source(**one) for one in given["documents"]]
    questions = [Question(**one) for one in given["questions"]]
    with tempfile.TemporaryDirectory() as folder, ScriptedModel() as model:
        files = Path(folder) / "files"
        files.mkdir()
        for source in sources:
            (files / source.name).write_bytes(source.content(options.data))
        chosen = {"chat": "openai:scripted", "chat_url": f"{model.url}/v1"}
        if options.embedder:
            chosen["embedder"] = options.embedder
        settings = load(options.home or Path(folder) / "home", {}, **chosen)
        asked = asyncio.run(_measure(settings, files, sources, questions, model))
    table = _table(asked)
    for kind, (right, of) in table.items():
        print(f"{kind:<22}{right:>4} of {of}")
    if options.show:
        for one in asked:
            if one.why:
                print(f"{one.kind}: {one.question.question!r} ({one.question.document}): {one.why}")
    results = {
        f"{one.kind}: {one.question.document}: {one.question.question}": not one.why
        for one in asked
    }
    if options.against:
        earlier = json.loads(options.against.read_text("utf-8"))
        pairs = [(float(results[it]), float(earlier[it])) for it in results if it in earlier]
        print(f"against {options.against}: {difference(*zip(*pairs, strict=True))}")
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0


def _table(asked: Sequence[Asked]) -> dict[str, tuple[int, int]]:
    """How many of each kind are right, of how many."""
    kinds = list(dict.fromkeys(one.kind for one in asked))
    rows = {kind: [not one.why for one in asked if one.kind == kind] for kind in kinds}
    rows["all"] = [not one.why for one in asked]
    return {kind: (sum(right), len(right)) for kind, right in rows.items()}


async def _measure(
    settings: Settings,
    files: Path,
    sources: Sequence[Source],
    questions: Sequence[Question],
    model: ScriptedModel,
) -> list[Asked]:
    known = {one.name: one for one in sources}
    engine = await open_engine(settings)
    try:
        failed = [one for one in await engine.add(files) if one.result == "failed"]
        if failed:
            sys.exit(f"{failed[0].name} could not be added: {failed[0].error}")
        texts = {name: await engine.text(name) for name in known}
        _check(texts, sources, questions)
        asked: list[Asked] = []
        for one in questions:
            source = known[one.document]
            if one.first:
                kept, sent = await _kept(engine, model, one), await _sent_along(engine, one)
                ways = {f"{one.kind}, kept": kept, f"{one.kind}, sent along": sent}
            else:
                ways = {one.kind: await engine.explain(ChatRequest(_said(one.question)))}
            asked += [Asked(it, one, _why(one, source, texts, told)) for it, told in ways.items()]
        return asked
    finally:
        await engine.close()


def _check(
    texts: Mapping[str, str], sources: Sequence[Source], questions: Sequence[Question]
) -> None:
    """Ends the program if a list of questions looks for what its documents do not say."""
    wanted = [(one.name, heading) for one in sources for heading in one.headings]
    wanted += [(one.document, span) for one in questions for span in one.spans]
    wanted += [(one.source, one.cites) for one in questions]
    for name, span in wanted:
        if _plain(span) not in _plain(texts[name]):
            sys.exit(f"{name} does not say {span!r}")


def _why(asked: Question, source: Source, texts: Mapping[str, str], told: Explanation) -> str:
    documents = told.evidence.documents if told.evidence else ()
    found = [one for one in documents if one.name == asked.document]
    budget = told.usage.context_budget
    if budget is not None and told.usage.context_size > budget:
        return f"{told.usage.context_size} of {budget} {told.usage.unit}: more than the budget"
    if asked.kind == "follow-up":
        return _escalated(asked, told)
    if not found:
        return "not in the evidence"
    if asked.kind != "summary":
        passages = [_plain(one.text) for one in found[0].passages]
        missing = [one for one in asked.spans if not any(_plain(one) in it for it in passages)]
        return f"without {missing[0]!r}" if missing else ""
    return "; ".join(_summary(found[0], source, texts[asked.document], told))


def _summary(
    document: ReconstructedDocument, source: Source, text: str, told: Explanation
) -> Iterator[str]:
    """What a summary would lack."""
    first, last = document.passages[0], document.passages[-1]
    if first.start > len(text) - len(text.lstrip()) or first.end < min(_EDGE, len(text)):
        yield "without the opening"
    if last.end < len(text.rstrip()) and not _is_marked(document):
        yield "without the ending, and no mark in its place"
    sent = _plain(str(told.messages[-1]["content"]))
    headings = [one for one in source.headings if _plain(one) in sent]
    if len(headings) < _MOST * len(source.headings):
        yield f"{len(headings)} of {len(source.headings)} headings"
    budget = told.usage.context_budget
    if budget is not None and len(text) > budget and told.usage.context_size < _MOST * budget:
        yield f"{told.usage.context_size} of {budget} {told.usage.unit} are used"


def _is_marked(document: ReconstructedDocument) -> bool:
    """Whether what was left out at the end is marked."""
    return bool(document.gaps) and document.full_content.rstrip().endswith("...]")


async def _kept(engine: Engine, model: ScriptedModel, asked: Question) -> Explanation:
    """The follow-up in a conversation whose first answer a model wrote."""
    citation = await _citation(engine, asked)
    model.script.append(answer(f"{asked.cites} {citation}"))
    first = await engine.ask(ChatRequest(_said(asked.first), conversation=NEW))
    request = ChatRequest(_said(asked.question), conversation=first.conversation)
    return await engine.explain(request)


async def _sent_along(engine: Engine, asked: Question) -> Explanation:
    said = f"{asked.cites} {await _citation(engine, asked)}"
    messages = (
        *_said(asked.first),
        {"role": "assistant", "content": said},
        *_said(asked.question),
    )
    return await engine.explain(ChatRequest(messages))


async def _citation(engine: Engine, asked: Question) -> str:
    """Of the chunk that says what the first answer says."""
    document = await engine.document(asked.source)
    wanted = _plain(asked.cites)
    for chunk, text in await engine.chunks(asked.source):
        if wanted in _plain(text):
            return f"[{document.id}:{chunk.chunk_index}]"
    sys.exit(f"no chunk of {asked.source} has all of {asked.cites!r}")


def _escalated(asked: Question, told: Explanation) -> str:
    documents = told.evidence.documents if told.evidence else ()
    if not documents:
        return "nothing was found"
    if documents[0].name != asked.document:
        return f"{documents[0].name} comes first"
    return f"as {documents[0].kind}" if documents[0].kind == "passages" else ""


def _said(text: str) -> tuple[dict[str, Any], ...]:
    return ({"role": "user", "content": text},)


def _plain(text: str) -> str:
    """Without line breaks, which differ where a text is quoted."""
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
