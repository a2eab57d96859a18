"""txtai's hybrid search over the same chunks and vectors, with content, as it comes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from txtai import Embeddings  # type: ignore[import-not-found]  # in the peers' interpreter

from bench.peers.asked import NEAREST, Answer, Asking, Corpus, Rows, ask_all, give, read_asking


def table(corpus: Corpus) -> Callable[[list[str]], Rows]:
    """Vectors by text: those of the chunks in their order, those of questions by name."""
    places = iter(range(len(corpus.chunks)))

    # It takes nothing but a plain function.
    def transform(texts: list[str]) -> Rows:
        if len(texts) == 1:
            return corpus.vector(texts[0]).reshape(1, -1)
        rows: Rows = corpus.vectors[[next(places) for _ in texts]]
        return rows

    return transform


def rows(corpus: Corpus) -> Iterator[tuple[int, str, None]]:
    for at in range(len(corpus.chunks)):
        yield at, corpus.chunk_text(at), None


def opened(corpus: Corpus, folder: Path) -> Any:  # noqa: ANN401 -- it has no types here
    made = Embeddings(method="external", transform=table(corpus), content=True, hybrid=True)
    if not folder.exists():
        made.index(rows(corpus))
        made.save(str(folder))
        made.close()
    made = Embeddings()
    made.load(str(folder), config={"transform": table(corpus)})
    return made


def run(asking: Asking) -> Answer:
    corpus = Corpus(Path(asking.corpus))
    made = opened(corpus, Path(asking.work))
    assert made.count() == len(corpus.chunks), "all are there"
    answer = ask_all(corpus, asking, "hybrid", lambda question: made.search(question, NEAREST))
    found = made.ann.search(corpus.asked, NEAREST)
    answer.recall = corpus.recall([[int(at) for at, _ in one] for one in found])
    return answer


if __name__ == "__main__":
    give(run(read_asking()))
