"""txtai's hybrid search over the library's chunks and their vectors, as it comes."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from txtai import Embeddings  # type: ignore[import-not-found]  # in its interpreter

from bench.peers.quality_asked import DEEP, Asked, Ways, play


def hybrid(asked: Asked) -> list[list[int]]:
    places = {text: at for at, text in enumerate(asked.said)}
    questions = {text: at for at, text in enumerate(asked.questions)}
    rows, wanted = np.load(asked.vectors), np.load(asked.asked)

    # It takes nothing but a plain function.
    def transform(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        found = [wanted[questions[it]] if it in questions else rows[places[it]] for it in texts]
        return np.stack(found)

    made = Embeddings(method="external", transform=transform, hybrid=True)
    made.index((at, text, None) for at, text in enumerate(asked.said))
    return [[int(at) for at, _ in made.search(it, DEEP)] for it in asked.questions]


if __name__ == "__main__":
    play(Ways({"txtai hybrid": hybrid}, {}, {}))
