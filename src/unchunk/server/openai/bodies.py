"""What clients send, checked. Fields that are not known are let be: clients are newer than we."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, JsonValue

from unchunk.domain import ChunkingStrategy
from unchunk.ports import Attribute
from unchunk.server.bodies import AS_WHOLE
from unchunk.server.openai.faults import about, refuse
from unchunk.server.openai.ids import document_of
from unchunk.stores import Addition, limits

# As many as one request may name.
MOST_AT_FIRST, MOST_IN_BATCH = 500, 2_000
MOST_RESULTS = 50

_Name = Annotated[str, Field(max_length=1_000)]
_Id = Annotated[str, Field(max_length=200)]
_Whole = Annotated[int, Field(strict=True), AS_WHOLE]
_Attributes = dict[str, JsonValue]
_Metadata = dict[str, JsonValue]
_Query = Annotated[str, Field(max_length=100_000)]
# A single one as a list: of two types, an error would name neither's place.
_AS_LIST = BeforeValidator(lambda it: [it] if isinstance(it, str) else it)


class StaticBody(BaseModel):
    max_chunk_size_tokens: Annotated[_Whole, Field(ge=100, le=4096)]
    chunk_overlap_tokens: Annotated[_Whole, Field(ge=0)]


class StrategyBody(BaseModel):
    type: Literal["auto", "static"]
    static: StaticBody | None = None


class StoreExpiryBody(BaseModel):
    anchor: Literal["last_active_at"]
    days: Annotated[_Whole, Field(ge=1, le=365)]

    def as_time(self) -> timedelta:
        return timedelta(days=self.days)


class NewStoreBody(BaseModel):
    name: _Name | None = None
    description: Annotated[str, Field(max_length=10_000)] | None = None
    metadata: _Metadata | None = None
    expires_after: StoreExpiryBody | None = None
    file_ids: Annotated[list[_Id], Field(max_length=MOST_AT_FIRST)] | None = None
    chunking_strategy: StrategyBody | None = None


class StoreBody(BaseModel):
    """What is not given stays; what is null is taken away, but a name."""

    name: _Name | None = None
    metadata: _Metadata | None = None
    expires_after: StoreExpiryBody | None = None


class RankingBody(BaseModel):
    """Which ranker is ours to choose."""

    score_threshold: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.0


class SearchBody(BaseModel):
    query: Annotated[list[_Query], Field(min_length=1, max_length=10), _AS_LIST]
    filters: JsonValue = None
    max_num_results: Annotated[_Whole, Field(ge=1, le=MOST_RESULTS)] | None = None
    ranking_options: RankingBody | None = None


class NewMemberBody(BaseModel):
    file_id: _Id
    attributes: _Attributes | None = None
    chunking_strategy: StrategyBody | None = None


class MemberBody(BaseModel):
    attributes: _Attributes | None


class NewBatchBody(BaseModel):
    """`file_ids`, to which the rest applies, or `files`, which have their own."""

    file_ids: Annotated[list[_Id], Field(min_length=1, max_length=MOST_IN_BATCH)] | None = None
    files: Annotated[list[NewMemberBody], Field(min_length=1, max_length=MOST_IN_BATCH)] | None = (
        None
    )
    attributes: _Attributes | None = None
    chunking_strategy: StrategyBody | None = None


def addition(body: NewMemberBody, place: str = "") -> Addition:
    """`place` is where in the request it stands, with a dot, if not at its top."""
    return Addition(
        document_of(body.file_id),
        strategy_of(body.chunking_strategy, f"{place}chunking_strategy"),
        attributes_of(body.attributes, f"{place}attributes"),
    )


def strategy_of(
    body: StrategyBody | None, place: str = "chunking_strategy"
) -> ChunkingStrategy | None:
    """None for what is ours to choose."""
    if body is None or body.type == "auto":
        return None
    if body.static is None:
        raise refuse("a static strategy needs its `static`", param=f"{place}.static")
    with about(f"{place}.static.chunk_overlap_tokens"):
        return limits.strategy(body.static.max_chunk_size_tokens, body.static.chunk_overlap_tokens)


def attributes_of(
    given: Mapping[str, object] | None, place: str = "attributes"
) -> Mapping[str, Attribute]:
    with about(place):
        return limits.attributes(given or {})


def metadata_of(given: Mapping[str, object] | None) -> Mapping[str, str]:
    with about("metadata"):
        return limits.metadata(given or {})
