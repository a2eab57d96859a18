"""Libraries to ask, made up once and kept: chunks, vectors and questions, and each one's index.

Chunks of some 170 words, 384 dimensions, clustered as real ones are: topics, documents, chunks. A
question is some words of a chunk, and a vector near its own.
"""

import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.environments import FILES
from bench.machine import OWN
from bench.peers.asked import NEAREST, Rows
from bench.peers.measure import DIMENSIONS, OVERLAP, SIZE, on_disk
from bench.running import Run
from bench.texts import sentences
from bench.turns import Contestant, Seat
from unchunk.domain import Chunking, ChunkingStrategy, Extracted
from unchunk.library.layout import lay_out

QUESTIONS = 1_000
# What each level adds to the one above, and in how many directions: real vectors fill few. The
# levels overlap, so that a graph with usual settings finds all but a few in a hundred.
TOPICS, LATENT = 300, 128
OF_TOPIC, OF_DOCUMENT, OF_CHUNK, OF_QUESTION, EVERYWHERE = 0.5, 0.5, 1.0, 0.7, 0.02
# Who builds a library, if not the player's own module.
_BUILDERS = {"ours": "written"}
_SOURCE = FILES.parents[1] / "src" / "unchunk"
_CUTTING = [_SOURCE / "library" / "layout.py", *sorted((_SOURCE / "text").glob("*.py"))]
_WORD = re.compile(r"[A-Za-z]{3,}")
_BLOCK = 10_000


def corpus_of(run: Run, chunks: int) -> Path:
    """The folder of a made-up library of about so many chunks."""
    folder = run.cache / "libraries" / str(chunks) / "corpus"
    pool = plain_sentences()
    # As many as are timed at least, or some would be asked twice.
    questions = min(QUESTIONS, chunks // 3 if run.is_quick else chunks // 2)
    files = [Path(__file__), FILES / "measure.py", *_CUTTING]
    mark = mark_of(files, str(questions), *pool)
    if not (folder / "note.json").exists() or _note(folder).get("mark") != mark:
        run.say(f"making up {chunks:,} chunks ...")
        write_corpus(folder, chunks, questions, pool, mark)
    return folder


def plain_sentences() -> list[str]:
    return [one.encode("ascii", "ignore").decode() for one in sentences()]


def mark_of(files: Iterable[Path], *more: str) -> str:
    """Changes with what is in the files, and with what else it depends on."""
    told = [file.read_bytes() for file in files]
    return hashlib.sha256(b"\0".join([*told, *(one.encode() for one in more)])).hexdigest()


def source() -> list[Path]:
    """All of ours."""
    return sorted(_SOURCE.rglob("*.py"))


def _note(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "note.json").read_text("utf-8"))
    return found


def made(
    run: Run, contestant: Contestant, begin: Callable[[], Seat], corpus: Path, seconds: float
) -> Path:
    """Where its library is, with all of its ways; built by it if it is not there as it should be.

    `begin` starts it, knowing the made-up library already; only who has to build is started.
    """
    folder = corpus.parent / contestant.place
    stamp, mark = folder.with_suffix(".made"), _mark(contestant, _note(corpus)["mark"])
    if stamp.exists() and json.loads(stamp.read_text("utf-8"))["mark"] == mark:
        return folder
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    run.say(f"{contestant.name}: building {corpus.parent.name} chunks ...")
    done = begin().do("build", seconds=seconds, folder=str(folder), ways=list(contestant.ways))
    note = {"mark": mark, "cpu": done.cpu, "wall": done.wall, "bytes": on_disk(folder)}
    stamp.write_text(json.dumps(note | done.value), "utf-8")
    run.say(f"{contestant.name}: {done.wall:.0f} s, {done.cpu:.0f} s of CPU")
    return folder


def note_of(corpus: Path, contestant: Contestant) -> dict[str, float]:
    """What was noted when it was built."""
    path = (corpus.parent / contestant.place).with_suffix(".made")
    found: dict[str, float] = json.loads(path.read_text("utf-8"))
    return found


def _mark(contestant: Contestant, corpus: str) -> str:
    """What is built depends on its versions, on how it is done, and on what of."""
    module = _BUILDERS.get(contestant.place, contestant.module)
    files = [FILES / f"{one}.py" for one in (module, "asked", "embedding", "playing")]
    depends = [repr(contestant.ways), corpus]
    if contestant.environment:
        return mark_of([*files, FILES / f"{contestant.environment}.txt"], *depends)
    return mark_of([*files, *source()], *depends, *map(version, OWN))


def model_of(run: Run) -> Path:
    """The default model as ONNX and its tokenizer, for whoever runs it without us."""
    from unchunk.adapters.embed.encoder import to_onnx
    from unchunk.adapters.embed.models import DEFAULT_MODEL, local_model
    from unchunk.adapters.embed.weights import Pack
    from unchunk.adapters.models.registry import find

    folder, model = run.cache / "model", local_model(DEFAULT_MODEL)
    stamp, mark = folder / "made", mark_of(sorted((_SOURCE / "adapters" / "embed").glob("*.py")))
    if not stamp.exists() or stamp.read_text("ascii") != mark:
        files = find(model.requirement, model.files, Path.home() / ".unchunk" / "models")
        pack = Pack(files[model.weights.path].read_bytes())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_bytes(pack.tokenizer())
        (folder / "model.onnx").write_bytes(to_onnx(pack.encoder(), model.pooling))
        stamp.write_text(mark, "ascii")
    return folder


def write_corpus(folder: Path, chunks: int, questions: int, pool: Sequence[str], mark: str) -> None:
    """About `chunks` chunks, in documents of some 50; the note is written last, when all is there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rng = random.Random(5)
    chunking = Chunking(ChunkingStrategy("chars", SIZE, OVERLAP), "boundary")
    rows: list[tuple[int, int, int, int]] = []
    spans: list[tuple[int, int]] = []
    topics: list[int] = []
    begin = 0
    with (folder / "texts.txt").open("w", encoding="ascii") as file:
        while len(rows) < chunks:
            topics.append(rng.randrange(TOPICS))
            text = _document(rng, pool, topics[-1], rng.randint(8_000, 78_000))
            cut = lay_out(
                Extracted(text, "text/plain"), chunking, lambda them: [1] * len(them), 512
            )
            rows += [(len(spans), it.chunk_index, begin + it.start, begin + it.end) for it in cut]
            spans.append((begin, begin + len(text)))
            begin += len(text)
            file.write(text)
    np.save(folder / "documents.npy", np.array(spans, np.int64))
    np.save(folder / "chunks.npy", np.array(rows, np.int64))
    text = (folder / "texts.txt").read_text("ascii")
    chosen = rng.sample(range(len(rows)), questions)
    asked = [_question(rng, text[rows[at][2] : rows[at][3]]) for at in chosen]
    (folder / "questions.json").write_text(json.dumps(asked), "utf-8")
    min_score = _write_vectors(folder, [row[0] for row in rows], topics, chosen)
    note = {"chunks": len(rows), "questions": questions, "min_score": min_score, "mark": mark}
    (folder / "note.json").write_text(json.dumps(note), "utf-8")


def _document(rng: random.Random, pool: Sequence[str], topic: int, length: int) -> str:
    """Half of its sentences are of its topic: consecutive ones of the sources."""
    width = len(pool) // TOPICS
    own = pool[topic * width : (topic + 1) * width]
    parts: list[str] = []
    while sum(map(len, parts)) < length:
        some = rng.choices(own, k=rng.randint(3, 9)) + rng.choices(pool, k=rng.randint(3, 9))
        rng.shuffle(some)
        parts.append(" ".join(some) + "\n\n")
    return "".join(parts)


def _question(rng: random.Random, text: str) -> str:
    """Some words of a chunk as they follow each other, rare and common ones, as people ask."""
    words = _WORD.findall(text)
    first = rng.randrange(max(len(words) - 12, 1))
    some = [word for word in words[first : first + 12] if rng.random() < 0.7]
    return f"What of {' '.join(some)}?"


def _write_vectors(
    folder: Path, of: Sequence[int], topics: Sequence[int], chosen: Sequence[int]
) -> float:
    rng = np.random.default_rng(6)
    scale = (1 / np.sqrt(np.arange(1, LATENT + 1))).astype(np.float32)
    turn = rng.standard_normal((LATENT, DIMENSIONS), np.float32)

    def latent(count: int) -> Rows:
        made: Rows = rng.standard_normal((count, LATENT), np.float32) * scale
        return made

    def full(rows: Rows) -> Rows:
        wide: Rows = rows @ turn
        size = np.linalg.norm(wide, axis=1, keepdims=True)
        wide = wide / size + EVERYWHERE * rng.standard_normal(wide.shape, np.float32)
        wide /= np.linalg.norm(wide, axis=1, keepdims=True)
        return wide

    documents = OF_TOPIC * latent(TOPICS)[topics] + OF_DOCUMENT * latent(len(topics))
    path = folder / "vectors.npy"
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, (len(of), DIMENSIONS))
    kept: dict[int, Rows] = {}
    wanted = set(chosen)
    for first in range(0, len(of), _BLOCK):
        some = of[first : first + _BLOCK]
        rows = documents[some] + OF_CHUNK * latent(len(some))
        vectors[first : first + len(some)] = full(rows)
        kept |= {at: rows[at - first] for at in wanted & set(range(first, first + len(some)))}
    asked = full(np.stack([kept[at] for at in chosen]) + OF_QUESTION * latent(len(chosen)))
    np.save(folder / "asked.npy", asked)
    nearest = _nearest(asked, vectors)
    np.save(folder / "nearest.npy", nearest)
    by_chance = asked @ np.asarray(vectors[rng.integers(len(of), size=1000)]).T
    # As for the models: what one in twenty questions reaches with a text of something else.
    return float(np.quantile(by_chance, 0.95))


def _nearest(asked: Rows, vectors: Rows) -> npt.NDArray[np.int64]:
    best: Rows = np.full((len(asked), NEAREST), -2, np.float32)
    nearest = np.zeros((len(asked), NEAREST), np.int64)
    for first in range(0, len(vectors), _BLOCK):
        cosines = asked @ np.asarray(vectors[first : first + _BLOCK]).T
        every = np.hstack([best, cosines])
        places = np.broadcast_to(np.arange(first, first + cosines.shape[1]), cosines.shape)
        indices = np.hstack([nearest, places])
        order = np.argsort(-every, axis=1, kind="stable")[:, :NEAREST]
        best = np.take_along_axis(every, order, axis=1)
        nearest = np.take_along_axis(indices, order, axis=1)
    return nearest
