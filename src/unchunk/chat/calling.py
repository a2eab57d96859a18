"""Documents under other names than the library's, throughout an answer."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec

from unchunk.domain import DocumentId
from unchunk.retrieval.evidence import ReconstructedDocument
from unchunk.retrieval.retriever import Evidence

P = ParamSpec("P")
Names = Callable[[Sequence[DocumentId]], Awaitable[Mapping[DocumentId, str]]]
"""What some documents are called; those that are left out keep the library's name."""


def called(
    retrieve: Callable[P, Awaitable[Evidence]], names: Names
) -> Callable[P, Coroutine[Any, Any, Evidence]]:
    """The same evidence under those names: what a model reads, quotes and citations have them."""

    async def found(*args: P.args, **kwargs: P.kwargs) -> Evidence:
        evidence = await retrieve(*args, **kwargs)
        every = [one.document for one in evidence.documents]
        every += (one.document for one in evidence.omitted)
        known = await names(list(dict.fromkeys(every))) if every else {}
        return replace(
            evidence,
            documents=tuple(_named(one, known) for one in evidence.documents),
            omitted=tuple(
                replace(one, name=known.get(one.document, one.name)) for one in evidence.omitted
            ),
        )

    return found


def _named(
    document: ReconstructedDocument, known: Mapping[DocumentId, str]
) -> ReconstructedDocument:
    name = known.get(document.document, document.name)
    # What has no title has its name as one.
    title = name if document.title == document.name else document.title
    return replace(document, name=name, title=title)
