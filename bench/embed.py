"""How fast local models embed, how well, and where their thresholds lie.

    python -m bench.embed                       speed of the models at hand
    python -m bench.embed --peer-python PYTHON  and of sentence-transformers with the same weights
    python -m bench.embed --quality             nDCG@10 on a part of SciFact
    python -m bench.embed --threshold           the cosine that unrelated texts stay below

Models other than the default are looked for in --models, where `unchunk models get` keeps them.
The peer has an environment of its own, which needs no package of this one:

    python -m venv /tmp/peer
    /tmp/peer/bin/pip install torch==2.13.0 sentence-transformers==6.2.0
    python -m bench.embed --peer-python /tmp/peer/bin/python

Both get the same texts and as many threads, by turns in one run. Read the ratios.
"""

import argparse
import asyncio
import csv
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from unchunk.adapters.embed.encoder import Linear, Norm, real
from unchunk.adapters.embed.hashing import HashingEmbedder
from unchunk.adapters.embed.local import LocalEmbedder
from unchunk.adapters.embed.models import DEFAULT_MODEL, descriptions, local_model
from unchunk.adapters.embed.weights import Pack
from unchunk.adapters.models.registry import find
from unchunk.errors import MissingPartError
from unchunk.ports import Embedder, Vectors

DATA = Path(__file__).parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results" / "embed.json"
WORDS = 200
PART = 1000
UNRELATED = 95
Records = list[dict[str, Any]]
Embedders = dict[str, Embedder]


class Timing(NamedTuple):
    """Chunks for each second that passed, and milliseconds of all cores for each chunk."""

    per_second: float
    cpu_ms: float


class Row(NamedTuple):
    """`ratio` is how many times as fast ours is, `cpu_ratio` with how much less work.

    `cosine` is how far the two agree.
    """

    name: str
    per_second: float
    cpu_ms: float
    ratio: float | None = None
    cpu_ratio: float | None = None
    cosine: float | None = None


def main() -> None:
    options = _options()
    at_hand = dict(_at_hand(options.models, options.threads))
    results: dict[str, object] = {}
    if options.quality:
        results["quality"] = asyncio.run(quality(at_hand))
    if options.threshold:
        results["threshold"] = asyncio.run(thresholds(at_hand))
    if not (options.quality or options.threshold):
        results["speed"] = asyncio.run(speed(at_hand, options))
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept | results, indent=1) + "\n", "utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.embed")
    parser.add_argument("--peer-python", type=Path, help="interpreter with sentence-transformers")
    parser.add_argument("--models", type=Path, default=Path.home() / ".unchunk" / "models")
    parser.add_argument("--texts", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--threshold", action="store_true")
    return parser.parse_args()


def _at_hand(folder: Path, threads: int) -> Iterator[tuple[str, Embedder]]:
    for model in descriptions():
        try:
            files = find(model.requirement, model.files, folder)
        except MissingPartError as error:
            print(f"without {model.name}: {error}")
        else:
            yield model.name, LocalEmbedder(model, files, threads=threads)
    yield "hashing", HashingEmbedder()


# --- speed


async def speed(at_hand: Embedders, options: argparse.Namespace) -> object:
    texts = [" ".join(text.split()[:WORDS]) for _, text in abstracts()[: options.texts]]
    rows: list[Row] = []
    if options.peer_python:
        rows += await _beside_peer(at_hand[DEFAULT_MODEL], texts, options)
    for name, embedder in at_hand.items():
        if name != DEFAULT_MODEL or not rows:
            timings = [await _timed(embedder, texts) for _ in range(options.rounds + 1)][1:]
            rows.append(Row(name, *_middle(timings)))
    print(f"\n{len(texts)} texts of up to {WORDS} words, {options.threads} threads\n")
    print(f"{'':46}{'chunks/s':>10}{'CPU ms':>9}{'ratio':>8}{'CPU':>7}{'cosine':>9}")
    for row in rows:
        ratio = f"{row.ratio:8.2f}{row.cpu_ratio:7.2f}" if row.ratio else ""
        cosine = f"{row.cosine:24.4f}" if row.cosine else ""
        print(f"{row.name:46}{row.per_second:10.1f}{row.cpu_ms:9.2f}{ratio}{cosine}")
    found = [row._asdict() for row in rows]
    return {"texts": len(texts), "words": WORDS, "threads": options.threads, "rows": found}


async def _beside_peer(
    embedder: Embedder, texts: list[str], options: argparse.Namespace
) -> list[Row]:
    ours: list[Timing] = []
    theirs: dict[int, list[Timing]] = {32: [], 8: []}
    with peer(options.peer_python, options.models, texts, options.threads) as ask:
        rows = await embedder.embed(texts, "document")
        for _ in range(options.rounds):
            ours.append(await _timed(embedder, texts))
            for batch, timings in theirs.items():
                answer = ask(batch)
                timings.append(Timing(answer["per_second"], answer["cpu_ms"]))
    cosine = float((rows * np.array(answer["rows"])).sum(axis=1).mean())
    mine = _middle(ours)
    found = [Row(DEFAULT_MODEL, *mine, cosine=cosine)]
    for batch, timings in theirs.items():
        their = _middle(timings)
        ratios = mine.per_second / their.per_second, their.cpu_ms / mine.cpu_ms
        found.append(Row(f"  sentence-transformers, batches of {batch}", *their, *ratios))
    return found


async def _timed(embedder: Embedder, texts: list[str]) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    await embedder.embed(texts, "document")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Timing(len(texts) / wall, cpu / len(texts) * 1000)


def _middle(timings: list[Timing]) -> Timing:
    return Timing(*(statistics.median(column) for column in zip(*timings, strict=True)))


# The peer reads a size of batches on each line, and answers with a line of JSON.
_PEER = """
import json, sys, time
import torch
from sentence_transformers import SentenceTransformer, models

folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
model = SentenceTransformer(device="cpu", modules=[
    models.Transformer(folder, max_seq_length=512),
    models.Pooling(384, pooling_mode="cls"),
    models.Normalize(),
])
texts = json.load(open(folder + "/texts.json"))
model.encode(texts[:8])
for line in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    rows = model.encode(texts, batch_size=int(line), show_progress_bar=False)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    answer = {"per_second": len(texts) / wall, "cpu_ms": cpu / len(texts) * 1000}
    print(json.dumps({**answer, "rows": rows.tolist()}), flush=True)
"""


class Ask(NamedTuple):
    to: IO[str]
    back: IO[str]

    def __call__(self, batch: int) -> dict[str, Any]:
        self.to.write(f"{batch}\n")
        self.to.flush()
        answer: dict[str, Any] = json.loads(self.back.readline())
        return answer


@contextmanager
def peer(python: Path, models: Path, texts: list[str], threads: int) -> Iterator[Ask]:
    model = local_model(DEFAULT_MODEL)
    files = find(model.requirement, model.files, models)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_roberta(Pack(files[model.weights.path].read_bytes()), folder)
        (folder / "texts.json").write_text(json.dumps(texts), "utf-8")
        command = [str(python), "-W", "ignore", "-c", _PEER, name, str(threads)]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as child:
            if child.stdin is None or child.stdout is None:
                raise SystemExit("the peer has no pipes")
            yield Ask(child.stdin, child.stdout)
            child.stdin.close()


def _write_roberta(pack: Pack, folder: Path) -> None:
    """The pack's weights in float32, in a folder as transformers reads them."""
    encoder = pack.encoder()
    words = real(encoder.words)
    size = words.shape[1]
    unused = np.zeros((2, size), np.float32)
    tensors = {
        "embeddings.word_embeddings.weight": words,
        "embeddings.position_embeddings.weight": np.concatenate([unused, encoder.positions]),
        # Already added to the positions.
        "embeddings.token_type_embeddings.weight": unused,
    }

    def put(name: str, part: Linear | Norm) -> None:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = map(real, part)

    put("embeddings.LayerNorm", encoder.norm)
    for number, layer in enumerate(encoder.layers):
        at = f"encoder.layer.{number}"
        put(f"{at}.attention.self.query", layer.query)
        put(f"{at}.attention.self.key", layer.key)
        put(f"{at}.attention.self.value", layer.value)
        put(f"{at}.attention.output.dense", layer.mix)
        put(f"{at}.attention.output.LayerNorm", layer.mix_norm)
        put(f"{at}.intermediate.dense", layer.widen)
        put(f"{at}.output.dense", layer.narrow)
        put(f"{at}.output.LayerNorm", layer.norm)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at_byte = 0
    for name, tensor in tensors.items():
        span = [at_byte, at_byte := at_byte + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": span}
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
    shape = {
        "model_type": "roberta",
        "architectures": ["RobertaModel"],
        "hidden_act": "gelu",
        "hidden_size": size,
        "intermediate_size": len(encoder.layers[0].widen.bias),
        "layer_norm_eps": encoder.epsilon,
        "max_position_embeddings": len(encoder.positions) + 2,
        "num_attention_heads": encoder.heads,
        "num_hidden_layers": len(encoder.layers),
        "pad_token_id": 1,
        "type_vocab_size": 2,
        "vocab_size": len(words),
    }
    marks = {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512}
    (folder / "config.json").write_text(json.dumps(shape), "utf-8")
    (folder / "tokenizer.json").write_bytes(pack.tokenizer())
    (folder / "tokenizer_config.json").write_text(json.dumps(kind | marks), "utf-8")


# --- quality


async def quality(at_hand: Embedders) -> object:
    """nDCG@10 where each question has its answers among a thousand abstracts."""
    answers = _answers()
    texts = dict(abstracts())
    wanted = {key for keys in answers.values() for key in keys}
    part = [*sorted(wanted, key=int), *(key for key in texts if key not in wanted)][:PART]
    asked = {record["_id"]: record["text"] for record in _lines("scifact/queries.jsonl")}
    found = {}
    print(f"\n{len(answers)} questions, {len(part)} documents of SciFact\n")
    for name, embedder in at_hand.items():
        rows = await embedder.embed([texts[key] for key in part], "document")
        questions = await embedder.embed([asked[key] for key in answers], "query")
        best = np.argsort(-(questions @ rows.T), axis=1)[:, :10]
        scores = [
            _ndcg([part[at] for at in order], right)
            for order, right in zip(best, answers.values(), strict=True)
        ]
        found[name] = statistics.mean(scores)
        print(f"{name:46}{found[name]:10.3f}")
    return found


def _ndcg(order: list[str], right: set[str]) -> float:
    gains = [1 / np.log2(rank + 2) for rank in range(10)]
    gained = sum(gain for gain, key in zip(gains, order, strict=True) if key in right)
    return float(gained / sum(gains[: len(right)]))


def _answers() -> dict[str, set[str]]:
    answers: dict[str, set[str]] = {}
    with (DATA / "scifact" / "qrels" / "test.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if int(row["score"]) > 0:
                answers.setdefault(row["query-id"], set()).add(row["corpus-id"])
    return answers


def abstracts() -> list[tuple[str, str]]:
    records = _lines("scifact/corpus.jsonl")
    return [(record["_id"], f"{record['title']}. {record['text']}") for record in records]


def _lines(name: str) -> Records:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


# --- thresholds


async def thresholds(at_hand: Embedders) -> object:
    """Questions of each set with texts of the others: none has anything to do with the other."""
    sets = _sets()
    found = {}
    print(f"\ncosines of questions with texts of another set; {UNRELATED} of 100 lie below\n")
    for name, embedder in at_hand.items():
        pairs = await _unrelated(embedder, sets)
        found[name] = float(np.percentile(pairs, UNRELATED))
        print(f"{name:46}{found[name]:10.3f}   median {np.median(pairs):.3f}")
    return found


async def _unrelated(embedder: Embedder, sets: dict[str, tuple[list[str], list[str]]]) -> Vectors:
    asked = {
        name: await embedder.embed(questions, "query") for name, (questions, _) in sets.items()
    }
    rows = {name: await embedder.embed(texts, "document") for name, (_, texts) in sets.items()}
    return np.concatenate(
        [(asked[one] @ rows[other].T).ravel() for one in sets for other in sets if one != other]
    )


def _sets() -> dict[str, tuple[list[str], list[str]]]:
    """Questions and texts of four libraries: medicine, a product's manual, speeches, an encyclopedia."""
    medicine = [record["text"] for record in _lines("scifact/queries.jsonl")]
    manual = json.loads((DATA / "anthropic_docs" / "anthropic_docs.json").read_text("utf-8"))
    of_manual = json.loads(
        (DATA / "anthropic_docs" / "docs_evaluation_dataset.json").read_text("utf-8")
    )
    speech = (DATA / "chunking_evaluation/corpora/state_of_the_union.md").read_text("utf-8").split()
    with (DATA / "chunking_evaluation" / "questions_df.csv").open(encoding="utf-8") as lines:
        of_speech = [
            row["question"]
            for row in csv.DictReader(lines)
            if row["corpus_id"] == "state_of_the_union"
        ]
    talks = json.loads((DATA / "inscit" / "dev.json").read_text("utf-8")).values()
    first = [talk["turns"][0] for talk in talks]
    told = [
        label["evidence"][0]["passage_text"]
        for turn in first
        for label in turn["labels"]
        if label["evidence"]
    ]
    sets = {
        "medicine": (medicine, [text for _, text in abstracts()]),
        "manual": ([it["question"] for it in of_manual], [it["text"] for it in manual]),
        "speech": (
            of_speech,
            [" ".join(speech[at : at + WORDS]) for at in range(0, len(speech), WORDS)],
        ),
        "encyclopedia": ([turn["context"][0] for turn in first], told),
    }
    return {name: (_spread(asked), _spread(texts)) for name, (asked, texts) in sets.items()}


def _spread(items: list[str], count: int = 40) -> list[str]:
    return items[:: max(1, len(items) // count)][:count]


if __name__ == "__main__":
    main()
