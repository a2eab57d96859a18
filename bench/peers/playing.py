"""A contestant's side of the turns: a process that does what a line asks, and tells what it took.

    python -m bench.peers.playing MODULE VARIANT

A line in is a JSON object, whose `do` names a method of `Game`. A line out has its `value`, the
`cpu` of this process and all that it started meanwhile, and `wall`; or an `error`. What a library
prints goes where its errors go. Needs only numpy, so that it runs in any interpreter.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from bench.peers import embedding as embeddings
from bench.peers.asked import Corpus, Parent, Piece, Span
from bench.peers.embedding import Embedding
from bench.peers.measure import OVERLAP, SIZE, cpu, memory

_PAUSE = 0.1


class Document(NamedTuple):
    """A file that is to be cut by whoever takes it in, or one of a made-up library."""

    name: str
    path: Path | None = None
    corpus: Corpus | None = None

    def pieces(self) -> list[Piece]:
        if self.corpus is not None:
            return self.corpus.pieces(self.corpus.number(self.name))
        if self.path is None:
            raise ValueError(f"{self.name} has no text")
        texts = _splitter().split_text(self.path.read_text("utf-8"))
        return [Piece(self.name, at, text) for at, text in enumerate(texts)]

    def parents(self) -> list[Parent]:
        if self.corpus is None:
            return []
        return list(self.corpus.parents(self.corpus.number(self.name)))


def _splitter() -> Any:  # noqa: ANN401 -- it has no types here
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)


class Player:
    """What one contestant can do. `ways` are its ways to ask, by name, once it is open.

    What a library holds is durable whenever a call of `build`, `delete` or `replace` is over.
    """

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.ways: dict[str, Callable[[str], Any]] = {}

    def prepare(
        self,
        documents: Iterable[Document],
        embedding: Embedding,  # noqa: ARG002
        folder: Path,  # noqa: ARG002
    ) -> Any:  # noqa: ANN401
        """What `build` gets. Here is done what does not count: processes are started, and floors
        do what is not their work.
        """
        return documents

    def build(
        self,
        documents: Any,  # noqa: ANN401 -- as `prepare` has them
        embedding: Embedding,
        folder: Path,
        wanted: Collection[str],
    ) -> int:
        """Make a library in `folder` that can be asked in the `wanted` ways; how many chunks."""
        raise NotImplementedError

    def open(self, folder: Path, embedding: Embedding, wanted: Collection[str]) -> None:
        raise NotImplementedError

    def read(self, found: Any) -> Iterator[tuple[str, int, int]]:  # noqa: ANN401
        """What a way found: a document, its first and its last chunk, for each that is shown."""
        raise NotImplementedError

    def shown(self, found: Any, corpus: Corpus) -> list[Span]:  # noqa: ANN401
        return [corpus.span(*one) for one in self.read(found)]

    def ask(self, way: str, questions: Sequence[str]) -> list[Any]:
        return [self.ways[way](question) for question in questions]

    def ask_at_once(self, way: str, questions: Sequence[str], clients: int) -> list[Any]:
        with ThreadPoolExecutor(clients) as pool:
            return list(pool.map(self.ways[way], questions))

    def count(self, found: Any) -> int:  # noqa: ANN401 -- each library has its own
        """How many things an answer has."""
        return len(found)

    def delete(self, name: str) -> None:
        raise NotImplementedError

    def replace(self, document: Document) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Leave what is open."""


class Took(NamedTuple):
    cpu: float
    wall: float
    value: object


def took(work: Callable[[], object], pause: float = 0.0) -> Took:
    """What is left to the background in the next moment counts too."""
    begun, cpu_begun = time.perf_counter(), cpu()
    value = work()
    wall = time.perf_counter() - begun
    time.sleep(pause)
    return Took(cpu() - cpu_begun, wall, value)


class Game:
    """What can be asked of a player's process, one line at a time."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._embedding = embeddings.table()
        self._corpus: Corpus | None = None

    def prepare(self, kind: str, place: str = "") -> Took:
        """Choose the vectors; those of a made-up library come with it."""
        if kind == "prepared":
            self._corpus = Corpus(Path(place))
            self._embedding = embeddings.prepared(self._corpus)
        elif kind == "local":
            self._embedding = embeddings.local(Path(place))
        return Took(0.0, 0.0, memory())

    def build(self, folder: str, ways: list[str], files: str = "") -> Took:
        """`value` is how many chunks there are, and the seconds of CPU that the vectors took."""
        documents = [Document(path.name, path) for path in sorted(Path(files).glob("*.txt"))]
        if not files and self._corpus is not None:
            count = len(self._corpus.documents)
            documents = [Document(self._corpus.name(at), None, self._corpus) for at in range(count)]
        ready = self._player.prepare(documents, self._embedding, Path(folder))
        self._embedding.seconds = 0.0
        done = took(lambda: self._player.build(ready, self._embedding, Path(folder), ways))
        return done._replace(value={"chunks": done.value, "model": self._embedding.seconds})

    def open(self, folder: str, ways: list[str]) -> Took:
        return took(lambda: self._player.open(Path(folder), self._embedding, ways))

    def ask(self, way: str, questions: list[str]) -> Took:
        """Tells how many of the questions found something."""
        return self._having_found(took(lambda: self._player.ask(way, questions)))

    def ask_at_once(self, way: str, questions: list[str], clients: int) -> Took:
        return self._having_found(took(lambda: self._player.ask_at_once(way, questions, clients)))

    def _having_found(self, done: Took) -> Took:
        found: Any = done.value
        return done._replace(value=sum(bool(self._player.count(one)) for one in found))

    def look(self, way: str, questions: list[str]) -> Took:
        """What was found for each question, as spans of documents."""
        player, corpus = self._player, self._corpus
        if corpus is None:
            raise ValueError("there is no made-up library to look at")
        found = player.ask(way, questions)
        return Took(0.0, 0.0, [player.shown(one, corpus) for one in found])

    def delete(self, name: str) -> Took:
        return took(lambda: self._player.delete(name), _PAUSE)

    def replace(self, path: str) -> Took:
        document = Document(Path(path).name, Path(path))
        self._embedding.seconds = 0.0
        done = took(lambda: self._player.replace(document), _PAUSE)
        return done._replace(value=self._embedding.seconds)

    def spent(self) -> Took:
        """All since the process began."""
        return Took(cpu(), 0.0, memory())

    def close(self) -> Took:
        return took(self._player.close)


def main() -> None:
    module, variant = sys.argv[1:]
    # What others print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    game = Game(import_module(f"bench.peers.{module}").player(variant))
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer: dict[str, Any] = getattr(game, asked.pop("do"))(**asked)._asdict()
        except Exception as error:  # noqa: BLE001 -- the edge of this process; told to who asked
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    game.close()


if __name__ == "__main__":
    main()
