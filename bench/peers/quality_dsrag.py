"""dsRAG's relevant segments, by its own function, from the cosines of the library's chunks.

What it needs a chat model or a reranker of others for is left out, so that a cosine stands for how
relevant a chunk is: few are then so low that a segment ends. A budget is given in its own
way: as the most chunks that all segments may have together.
"""

from collections.abc import Callable
from typing import Any

from dsrag.rse import (  # type: ignore[import-not-found]  # in its interpreter
    RSE_PARAMS_PRESETS,
    get_best_segments,
    get_meta_document,
    get_relevance_values,
)

from bench.peers.quality_asked import Asked, Growing, Near, Span, Ways, growing, play

_BALANCED: dict[str, Any] = RSE_PARAMS_PRESETS["balanced"]


def segments(asked: Asked) -> list[Growing]:
    first: dict[str, int] = {}
    for at, (name, _, _) in enumerate(asked.chunks):
        first.setdefault(name, at)

    def context(near: Near) -> Callable[[int], list[Span]]:
        ranked = [
            {
                "metadata": {
                    "doc_id": asked.chunks[at][0],
                    "chunk_index": at - first[asked.chunks[at][0]],
                    "chunk_text": asked.said[at],
                },
                "similarity": cosine,
            }
            for at, cosine in near
        ]
        splits, starts, names = get_meta_document(
            [ranked], _BALANCED["top_k_for_document_selection"]
        )
        values = get_relevance_values(
            [ranked],
            splits[-1],
            starts,
            names,
            _BALANCED["irrelevant_chunk_penalty"],
            _BALANCED["decay_rate"],
            _BALANCED["chunk_length_adjustment"],
        )

        def best(number: int) -> list[Span]:
            found, _ = get_best_segments(
                values, splits, _BALANCED["max_length"], number, _BALANCED["minimum_value"]
            )
            return [span(*one) for one in found]

        def span(start: int, end: int) -> Span:
            # They end where the documents do, and never go over from one to the next.
            name = max((it for it in names if starts[it] <= start), key=lambda it: starts[it])
            here = first[name] - starts[name]
            return name, asked.chunks[here + start][1], asked.chunks[here + end - 1][2]

        return best

    return [growing(context(near), _BALANCED["overall_max_length"]) for near in asked.near]


if __name__ == "__main__":
    play(Ways({}, {"dsRAG segments": segments}, {}))
