"""Which documents a conversation names: file names in a question, sources below an answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from unchunk.retrieval.cited import Citations, named_in_line
from unchunk.retrieval.names import mentions
from unchunk.retrieval.query import Turn
from unchunk.retrieval.shelf import Card, Where

_LISTED = 5


def mentioned(
    question: str, cards: Iterable[Card], where: Where
) -> tuple[dict[str, Card], list[str]]:
    """The documents whose file names stand in the question, and a note on names that several have."""
    by_path: dict[str, list[Card]] = {}
    for card in cards:
        if _is_within(card, where):
            by_path.setdefault(path_of(card), []).append(card)
    found: dict[str, Card] = {}
    several: dict[str, Sequence[Card]] = {}
    for mention in mentions(question, [*by_path]):
        meant = [card for path in mention.paths for card in by_path[path]]
        if len(meant) == 1:
            found[mention.text] = meant[0]
        else:
            several[mention.text] = meant
    return found, unclear({}, several)


def by_names(cards: Iterable[Card]) -> dict[str, list[Card]]:
    """The documents by their paths and by their names alone."""
    found: dict[str, list[Card]] = {}
    for card in cards:
        for name in {path_of(card), card.name}:
            found.setdefault(name, []).append(card)
    return found


def with_citations(turn: Turn, cited: Citations, by_name: Mapping[str, Sequence[Card]]) -> Turn:
    """An answer with what its text cites; only the names of listed sources are checked here."""
    # A list of sources does not say which chunks are meant: the first stands for the document.
    listed = (by_name.get(named_in_line(line, by_name), ()) for line in cited.sources)
    documents = [(found[0].document, 0) for found in listed if len(found) == 1]
    return replace(turn, cited=(*turn.cited, *cited.chunks, *documents))


def unclear(
    missing: Mapping[str, Sequence[str]], several: Mapping[str, Sequence[Card]]
) -> list[str]:
    """A note on the names that no document has, each with similar ones; and on those of several."""
    notes = []
    if len(missing) == 1:
        [(name, similar)] = missing.items()
        note = f"there is no document {name!r}"
        notes.append(f"{note}: {_hint(similar)}" if similar else note)
    elif missing:
        told = (f"{it!r} ({_hint(like)})" if like else repr(it) for it, like in missing.items())
        notes.append(f"there are no documents {', '.join(told)}")
    if several:
        told = (
            f"{name!r} matches several documents ({_listed(it)})" for name, it in several.items()
        )
        notes.append(f"{'; '.join(told)}: give the full path of one")
    return notes


def _hint(similar: Sequence[str]) -> str:
    return f"did you mean {' or '.join(similar)}?"


def _listed(cards: Sequence[Card]) -> str:
    paths = ", ".join(map(path_of, cards[:_LISTED]))
    return f"{paths} and {len(cards) - _LISTED} more" if len(cards) > _LISTED else paths


def path_of(card: Card) -> str:
    return f"{card.folder}/{card.name}" if card.folder else card.name


def _is_within(card: Card, where: Where) -> bool:
    """As far as a card tells."""
    return (
        (where.documents is None or card.document in where.documents)
        and (where.folders is None or card.folder in where.folders)
        and (where.names is None or card.name in where.names)
    )
