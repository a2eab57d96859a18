"""Turn what a search is limited to into filters of Qdrant."""

from collections.abc import Mapping, Sequence
from typing import Any

from qdrant_client import models

from unchunk.adapters.sources.fields import Fields, Names
from unchunk.domain import DocumentId
from unchunk.errors import InvalidInputError
from unchunk.ports import Among


def filter_of(
    fields: Fields,
    among: Among,
    wanted: Mapping[DocumentId, Sequence[int]] | None,
    where: str,
) -> models.Filter:
    must: list[Any] = [
        models.FieldCondition(key=name, match=models.MatchValue(value=value))
        for name, value in among.fields
    ]
    for what in ("documents", "titles", "content_types"):
        if (values := getattr(among, what)) is not None:
            names = getattr(fields, what[:-1])
            if not names:
                raise InvalidInputError(f"{where} cannot be searched by {what}: no field has them")
            must.append(_one_of(names, values))
    if wanted is not None:
        must += _places(fields, wanted)
    return models.Filter(must=must)


def _places(fields: Fields, wanted: Mapping[DocumentId, Sequence[int]]) -> list[Any]:
    """That it is one of those places.

    Without indexes the server reads every chunk, and each condition costs again: so most chunks
    are told apart by two simple ones, and only what is left is compared with each place.
    """
    asked = {document: sorted(set(indices)) for document, indices in wanted.items() if indices}
    if not asked:
        return []
    every = sorted({at for indices in asked.values() for at in indices})
    pairs: list[Any] = [
        models.Filter(must=[_any_of(fields.document, [document]), _between(fields, indices)])
        for document, indices in asked.items()
    ]
    return [
        _any_of(fields.document, list(asked)),
        within(fields, every[0], every[-1]),
        models.Filter(should=pairs),
    ]


def _one_of(names: Names, values: Sequence[str]) -> models.Filter:
    """That the first of the fields that is there has one of the values."""
    either: list[Any] = []
    for at, name in enumerate(names):
        absent: list[Any] = [
            models.IsEmptyCondition(is_empty=models.PayloadField(key=before))
            for before in names[:at]
        ]
        either.append(models.Filter(must=[*absent, _any_of((name,), values)]))
    return models.Filter(should=either)


def _any_of(names: Names, values: Sequence[str]) -> models.Filter:
    """That any of the fields has one of the values, as text or as number."""
    numbers = [int(value) for value in values if value.isdecimal() and len(value) < 19]
    return models.Filter(
        should=[
            models.FieldCondition(key=name, match=models.MatchAny(any=some))
            for name in names
            for some in (list(values), numbers)
            if some
        ]
    )


def within(fields: Fields, first: int, last: int) -> models.Filter:
    """By a range: it finds an index that is kept as a fraction, too."""
    return models.Filter(
        should=[
            models.FieldCondition(key=name, range=models.Range(gte=first, lte=last))
            for name in fields.chunk_index
        ]
    )


def _between(fields: Fields, indices: Sequence[int]) -> models.Filter:
    runs: list[list[int]] = []
    for at in indices:
        if runs and runs[-1][1] == at - 1:
            runs[-1][1] = at
        else:
            runs.append([at, at])
    return models.Filter(should=[within(fields, first, last) for first, last in runs])
