"""The values that all rooms share. Knows only the standard library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from hashlib import sha1, sha256
from math import isfinite
from typing import Final, Literal, NamedTuple
from uuid import UUID

from unchunk.errors import InvalidInputError, InvalidStrategyError

OwnerId = str
DocumentId = str
ConversationId = str
KeyId = str
# pending: its bytes are kept, it is not searchable yet. failed: so too, and why is known.
Status = Literal["live", "pending", "failed"]
Boundaries = Literal["window", "boundary", "markdown"]
Unit = Literal["tokens", "words", "chars"]
# all: what its owner may. metrics: only to read what the server counts.
KeyScope = Literal["all", "metrics"]
EncodingName = Literal["cl100k_base", "o200k_base"]

LONGEST_NAME: Final = 1000
"""How many characters the name of a document may have."""


class Span(NamedTuple):
    """The characters `text[start:end]` of a text that is kept elsewhere.

    A named tuple where other values are dataclasses: a large text has a million of
    them, and a tuple is made three times as fast.
    """

    start: int
    end: int
    heading_path: tuple[str, ...] = ()

    def of(self, text: str) -> str:
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class ChunkingStrategy:
    """A sliding window: chunk i begins `i * (size - overlap)` units into the text.

    `unit="tokens"` counts in `encoding`, which the other units ignore.
    """

    unit: Unit = "tokens"
    size: int = 800
    overlap: int = 400
    encoding: EncodingName = "cl100k_base"

    def __post_init__(self) -> None:
        if self.unit not in ("tokens", "words", "chars"):
            raise InvalidStrategyError(
                f"unit {self.unit!r} is unknown: use 'tokens', 'words' or 'chars'"
            )
        if self.encoding not in ("cl100k_base", "o200k_base"):
            raise InvalidStrategyError(
                f"encoding {self.encoding!r} is unknown: use 'cl100k_base' or 'o200k_base'"
            )
        for name, value in (("size", self.size), ("overlap", self.overlap)):
            if type(value) is not int:
                raise InvalidStrategyError(f"{name} must be a whole number, not {value!r}")
        if self.size < 1:
            raise InvalidStrategyError(f"size must be at least 1, not {self.size}")
        if not 0 <= self.overlap < self.size:
            raise InvalidStrategyError(
                f"overlap must be at least 0 and less than size ({self.size}), not {self.overlap}"
            )

    @property
    def stride(self) -> int:
        """How many units further each chunk begins."""
        return self.size - self.overlap

    def __str__(self) -> str:
        return f"{self.size}/{self.overlap} {self.unit}"


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a library cuts its documents; kept with each of them."""

    strategy: ChunkingStrategy
    boundaries: Boundaries = "boundary"

    def __str__(self) -> str:
        return f"{self.strategy} by {self.boundaries}"


class Heading(NamedTuple):
    """A heading that begins at `text[at]`; level 1 is the highest."""

    at: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a file says: its canonical text, and where its pages and headings begin in it.

    `pages[i]` is where page i + 1 begins; empty for formats without pages. `media_type` is
    what the content is, whatever its name says.
    """

    text: str
    media_type: str
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()


class Chunk(NamedTuple):
    """The characters `text[start:end]` of a document; pages count from 1, both ends included."""

    chunk_index: int
    start: int
    end: int
    first_page: int | None = None
    last_page: int | None = None
    heading_path: tuple[str, ...] = ()


class ChunkKey(NamedTuple):
    """Which chunk: `generation` counts how often its document was written."""

    owner: OwnerId
    document: DocumentId
    generation: int
    chunk_index: int

    @property
    def id(self) -> UUID:
        """The id of its point in every index; lengths keep two keys from sharing one."""
        return UUID(bytes=self.id_bytes)

    @property
    def id_bytes(self) -> bytes:
        """The same as bytes: a UUID of version 5, made by hand since a query needs many."""
        name = f"{len(self.owner)}:{self.owner}{self[1:]}".encode()
        digest = bytearray(sha1(_POINTS + name, usedforsecurity=False).digest()[:16])
        digest[6] = digest[6] & 0x0F | 0x50
        digest[8] = digest[8] & 0x3F | 0x80
        return bytes(digest)


_POINTS = UUID("6e7c1a52-6b0e-5f0a-9c53-0d6f2b1f7a11").bytes


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a document's content. Which of them is live, its document says.

    `checksum` is the SHA-256 of the bytes, `text_checksum` that of the text in UTF-8; the
    fields below `blob` are known once it was read and cut. `tokens` is how long the text is as
    OpenAI's cl100k_base counts; None for one from before that was kept.
    """

    document: DocumentId
    generation: int
    checksum: str
    size: int
    blob: str
    media_type: str = ""
    title: str = ""
    text_checksum: str = ""
    text_length: int = 0
    page_count: int = 0
    chunk_count: int = 0
    chunking: Chunking | None = None
    space: str = ""
    notes: tuple[str, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A document as its owner sees it: a name in a folder, and what became of it.

    `live` is what a search may find. `draft` is a version that is on its way in; where it
    failed, `error_code` and `error` say why, and a live version stays as it was. `attributes`
    are what its owner says of it: JSON, which no search reads but filters do.
    """

    id: DocumentId
    owner: OwnerId
    name: str
    folder: str
    created_at: datetime
    updated_at: datetime
    live: Version | None = None
    draft: Version | None = None
    error_code: str = ""
    error: str = ""
    attributes: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def status(self) -> Status:
        if self.live is not None:
            return "live"
        return "failed" if self.error_code else "pending"


def json_object(given: object, what: str) -> dict[str, object]:
    """A copy that is JSON and stays what it is when it is written and read again.

    Refuses, as `what`, names that are no texts, numbers that no other program reads, and what
    is nested so deep that a reader of JSON gives up.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{what} must be an object of JSON, not {type(given).__name__}")
    return {_json_name(name, what): _json(it, what, 1) for name, it in given.items()}


def _json(value: object, what: str, depth: int) -> object:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and value.bit_length() <= _WIDEST:
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, (int, float)):
        raise InvalidInputError(f"{what} cannot hold a number that is too large, or is none")
    if depth > _DEEPEST:
        raise InvalidInputError(f"{what} may be nested {_DEEPEST} times, not deeper: flatten it")
    if isinstance(value, Mapping):
        return {_json_name(name, what): _json(it, what, depth + 1) for name, it in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(it, what, depth + 1) for it in value]
    raise InvalidInputError(f"{what} cannot hold a {type(value).__name__}: it is not JSON")


def _json_name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise InvalidInputError(f"{what} cannot hold the name {name!r:.100}: it is not text")
    return name


# As many bits as the largest number with a point has.
_WIDEST, _DEEPEST = 1024, 50


@dataclass(frozen=True, slots=True)
class Whole:
    """A version with all that belongs to it, ready to become live."""

    version: Version
    text: str = field(repr=False)
    chunks: tuple[Chunk, ...] = field(repr=False)
    pages: tuple[int, ...] = field(default=(), repr=False)
    headings: tuple[Heading, ...] = field(default=(), repr=False)


class NewFile(NamedTuple):
    """What is said of a file as it comes in; `filename` "" is the name that the library gives it.

    `expires_after` counts from when its document was made; None is never.
    """

    filename: str = ""
    purpose: str = "assistants"
    expires_after: timedelta | None = None


class FolderCount(NamedTuple):
    """How many documents stand in a folder, and how many of them came in not yet or not at all."""

    folder: str
    documents: int
    pending: int
    failed: int


class Tally(NamedTuple):
    """How many documents are live, with how many chunks; and how many are not, and why."""

    documents: int
    chunks: int
    pending: int
    failed: int


class Mark(NamedTuple):
    """A rectangle on a page, in fractions of its width and height from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


class Opened(NamedTuple):
    """A live document and some of its chunks by their index, each with what it says."""

    document: Document
    version: Version
    chunks: dict[int, tuple[Chunk, str]]


class Remains(NamedTuple):
    """A version that nobody sees any more and whose parts have yet to go.

    `gone` tells that its whole document was deleted.
    """

    owner: OwnerId
    document: DocumentId
    generation: int
    blob: str
    space: str
    gone: bool


class Terms(NamedTuple):
    """Words as a sparse vector: ids in ascending order, and what each weighs."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


class Within(NamedTuple):
    """Where to search: always one owner's documents; of those, any of the named ones, if named."""

    owner: OwnerId
    documents: tuple[DocumentId, ...] | None = None
    folders: tuple[str, ...] | None = None


class Scored(NamedTuple):
    """A chunk that a search found; higher is better, and comparable in one search only."""

    key: ChunkKey
    score: float


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What makes two vectors comparable. A library keeps the one that it was built with.

    `max_tokens` is how much of a text the model reads. `min_score` is the cosine below which
    a hit means nothing for this model.
    """

    name: str
    dimensions: int
    max_tokens: int
    document_prefix: str = ""
    query_prefix: str = ""
    min_score: float = 0.0

    @property
    def fingerprint(self) -> str:
        parts = (self.name, self.dimensions, self.document_prefix, self.query_prefix)
        return sha256(repr(parts).encode()).hexdigest()[:16]


class Space(NamedTuple):
    """A set of vectors that can be compared; an index holds one or, while migrating, two."""

    name: str
    dimensions: int


# stopped: whoever asked had enough. interrupted: the process ended amid it.
TurnStatus = Literal["pending", "complete", "stopped", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Questions and answers of one owner; `folder` is where its answers come from, if not all."""

    id: ConversationId
    owner: OwnerId
    title: str
    folder: str
    turn_count: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer; `cited` is its evidence, as documents and chunk indices.

    `record` is JSON that tells how it came about: plan, sources, citations, model.
    """

    answer: str
    status: TurnStatus
    cited: tuple[tuple[DocumentId, int], ...] = ()
    record: Mapping[str, object] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A question, and its answer as far as there is one."""

    number: int
    question: str
    asked_at: datetime
    answered: Answered


@dataclass(frozen=True, slots=True)
class Key:
    """What an owner shows a server to be let in, but for its secret: of that, only the SHA-256.

    `used_on` is the last day on which it was used, if it ever was.
    """

    id: KeyId
    owner: OwnerId
    label: str
    scope: KeyScope
    digest: bytes = field(repr=False)
    created_at: datetime
    used_on: date | None = None
