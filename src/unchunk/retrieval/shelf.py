"""Where documents are found and opened: a library of ours, or chunks that somebody else keeps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Literal, NamedTuple, Protocol

from unchunk.domain import Chunk, DocumentId, Heading, OwnerId
from unchunk.errors import InvalidInputError

Metadata = Mapping[str, str | int | float | bool | None]
# What the score of a chunk is: a cosine, or what its words alone are worth.
FoundBy = Literal["meaning", "words"]
# How many places one note names.
_SUBJECTS = 3


@dataclass(frozen=True, slots=True)
class Where:
    """Which of an owner's documents are searched; `None` means any.

    `names` as they are listed, `media_types` whole or by their beginning (`image/`), `pages`
    from and to, both included, `since` and `until` by when the document was last changed.
    `fields` are exact matches, all of which must hold: on the attributes of a library's documents,
    or on what somebody else's chunks carry. 1 is not true there.
    """

    documents: tuple[DocumentId, ...] | None = None
    folders: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    media_types: tuple[str, ...] | None = None
    pages: tuple[int, int] | None = None
    since: datetime | None = None
    until: datetime | None = None
    fields: tuple[tuple[str, str | int | bool], ...] = ()
    # To Python, 1 is True: without this, two filters that differ in it would be one.
    _booleans: tuple[bool, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        """Lists are taken, too: what was asked for is a key of what is remembered."""
        for name in ("documents", "folders", "names", "media_types", "pages", "fields"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "fields", tuple((name, it) for name, it in self.fields))
        object.__setattr__(self, "_booleans", tuple(isinstance(it, bool) for _, it in self.fields))
        if self.pages is not None and not 1 <= self.pages[0] <= self.pages[1]:
            raise InvalidInputError(
                f"pages {self.pages} make no sense: they count from 1, the lower one first"
            )


EVERYWHERE = Where()
# How many chunks are looked for by each of two ways, however few are wanted: what both ways agree
# on may be far down in both.
DEPTH = 50
# Below every cosine.
ANY_SCORE = -2.0
# Above every cosine: of an embedder without a threshold, none says that a chunk matches.
NO_SCORE = inf


class Piece(NamedTuple):
    """A chunk with its text."""

    chunk: Chunk
    text: str


class Place(NamedTuple):
    """Where a chunk is; `generation` is 0 where documents are not counted."""

    document: DocumentId
    generation: int
    chunk_index: int


class Way(NamedTuple):
    """How a chunk was found: by `dense` or `lexical` search, at which rank, with what score."""

    name: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that was found. They are ordered by `rank_score`, which compares in one search only.

    `score` is what people see and thresholds are held against: the cosine with the question
    where there is one, otherwise what the only way of searching gave. `value` is what it is worth
    in a passage, with what stands beside it; None where that is not known. `below` is a threshold
    that it does not reach: it counts only if it has the question's words. `found_by` says which
    kind of score it has.
    """

    place: Place
    rank_score: float
    score: float
    ways: tuple[Way, ...] = ()
    value: float | None = None
    below: float | None = None
    found_by: FoundBy = "meaning"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A chunk or a document that was found and left out, and why.

    `same_as` is the document that it has all its bytes in common with, if that is why.
    """

    place: Place
    score: float
    reason: str
    same_as: DocumentId = ""


def too_low(threshold: float) -> str:
    """Why something was dropped."""
    if threshold == NO_SCORE:
        return "has too few of the question's words, and the embedder is not calibrated"
    return f"scored below {threshold:.2f}"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates, best first. `notes` says where the search was less than it should be.

    `most` is how many chunks were asked for, if the source refuses as many as were wanted.
    """

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    most: int | None = None

    def notes_for(self, wanted: int) -> tuple[str, ...]:
        """The notes; one more if so many chunks were wanted and fewer were asked for."""
        if self.most is None or self.most >= wanted:
            return self.notes
        short = f"it was asked for {self.most} chunks instead of {wanted}"
        return (*self.notes, f"the source refuses large searches: {short}")


class Doubt(NamedTuple):
    """Something about a document that is not sure: "chunks 3 and 4 of a.md", "share nothing"."""

    subject: str
    statement: str


def doubts_told(doubts: Iterable[Doubt]) -> list[str]:
    """One note for each statement, with the first few subjects that it is about."""
    by_statement: dict[str, dict[str, None]] = {}
    for subject, statement in doubts:
        by_statement.setdefault(statement, {})[subject] = None
    notes = []
    for statement, subjects in by_statement.items():
        first, more = [*subjects][:_SUBJECTS], len(subjects) - _SUBJECTS
        others = f" (and {more} more)" if more > 0 else ""
        notes.append(f"{', '.join(first)} {statement}{others}")
    return notes


@dataclass(frozen=True, slots=True)
class Sheet:
    """A document as its shelf knows it, with the chunks that were asked for and are there.

    The chunks' places are those of one text, so that neighbours join by slicing; where chunks
    came without places, they were stitched first. `doubts` names joints that are not sure. Documents
    of one `checksum` have the same bytes; it is empty for documents of foreign collections.
    """

    document: DocumentId
    name: str
    folder: str
    title: str
    content_type: str
    chunk_count: int | None
    pieces: Mapping[int, Piece]
    metadata: Metadata = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    length: int | None = None
    doubts: tuple[Doubt, ...] = ()
    checksum: str = ""


class Card(NamedTuple):
    """A document as the shelf lists it; `length` is that of its text, 0 if it is not known."""

    document: DocumentId
    generation: int
    folder: str
    name: str
    chunk_count: int | None
    length: int

    @property
    def path(self) -> str:
        """The name with its folder before it, if it has one."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


class Layout(NamedTuple):
    """Where the chunks and the headings of a document stand in its text."""

    chunks: Sequence[Chunk]
    headings: Sequence[Heading]


class MovedError(Exception):
    """A document was written anew since it was found: the search has to be made again."""


class Shelf(Protocol):
    """What the retriever asks for; an owner's shelf shows nothing of another's."""

    @property
    def fetches(self) -> bool:
        """Whether chunks can be opened that the search did not find: neighbours, whole documents."""
        ...

    async def find(
        self,
        text: str,
        owner: OwnerId,
        where: Where,
        *,
        limit: int,
        min_score: float | None = None,
        also: Sequence[tuple[DocumentId, int]] = (),
        copies: bool = False,
    ) -> Ranked:
        """The best chunks, those whose score is below `min_score` left out.

        None means what is sensible for whoever gives the scores. `also` names chunks that are
        wanted whether they are among the best or not, if they are there. Of documents with the
        same bytes only one is found, unless `copies` are wanted, too.
        """
        ...

    def has_words(self, question: str, text: str) -> bool:
        """Whether a text has at least half of a question's words."""
        ...

    async def open(
        self, owner: OwnerId, wanted: Mapping[tuple[DocumentId, int], Sequence[int]], where: Where
    ) -> dict[DocumentId, Sheet]:
        """Chunks of documents, each named with its generation, all in one call.

        Chunks that are not there, or not within `where`, are left out. Raises `MovedError`.
        """
        ...

    async def layouts(
        self, owner: OwnerId, wanted: Sequence[tuple[DocumentId, int]]
    ) -> dict[DocumentId, Layout]:
        """How documents, each named with its generation, are laid out; without those of which it
        is not known. Costs far less than their texts. Raises `MovedError`.
        """
        ...

    async def cards(self, owner: OwnerId) -> list[Card]:
        """Every document that can be asked for by its name."""
        ...

    async def related(self, owner: OwnerId, where: Where, to: Place, limit: int) -> list[Candidate]:
        """Chunks of other documents that are near in meaning to one, best first."""
        ...
