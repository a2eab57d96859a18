"""What clients send, checked. Fields that are not known are let be: clients are newer than we."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue

from unchunk.domain import ChunkingStrategy
from unchunk.server.openai.faults import about, refuse
from unchunk.server.openai.fields import (
    AS_LIST,
    Attributes,
    Description,
    Id,
    Metadata,
    Results,
    StoreName,
    Threshold,
    Whole,
    within,
)
from unchunk.server.openai.ids import document_of
from unchunk.stores import Addition, limits

_Query = Annotated[str, Field(max_length=100_000)]
_TOGETHER = AfterValidator(within(limits.together))


def _days(given: int) -> int:
    limits.store_life(timedelta(days=given))
    return given


class StaticBody(BaseModel):
    max_chunk_size_tokens: Annotated[Whole, AfterValidator(within(limits.chunk_size))]
    chunk_overlap_tokens: Whole


class StrategyBody(BaseModel):
    type: Literal["auto", "static"]
    static: StaticBody | None = None


class StoreExpiryBody(BaseModel):
    anchor: Literal["last_active_at"]
    days: Annotated[Whole, AfterValidator(within(_days))]

    def as_time(self) -> timedelta:
        return timedelta(days=self.days)


class NewStoreBody(BaseModel):
    name: StoreName | None = None
    description: Description | None = None
    metadata: Metadata | None = None
    expires_after: StoreExpiryBody | None = None
    file_ids: list[Id] | None = None
    chunking_strategy: StrategyBody | None = None


class StoreBody(BaseModel):
    """What is not given stays; what is null is taken away, but a name."""

    name: StoreName | None = None
    metadata: Metadata | None = None
    expires_after: StoreExpiryBody | None = None


class RankingBody(BaseModel):
    """Which ranker is ours to choose."""

    score_threshold: Threshold | None = None


class SearchBody(BaseModel):
    query: Annotated[list[_Query], AS_LIST, AfterValidator(within(limits.queries))]
    filters: JsonValue = None
    max_num_results: Results | None = None
    ranking_options: RankingBody | None = None


class NewMemberBody(BaseModel):
    file_id: Id
    attributes: Attributes | None = None
    chunking_strategy: StrategyBody | None = None


class MemberBody(BaseModel):
    attributes: Attributes | None


class NewBatchBody(BaseModel):
    """`file_ids`, to which the rest applies, or `files`, which have their own."""

    file_ids: Annotated[list[Id], _TOGETHER] | None = None
    files: Annotated[list[NewMemberBody], _TOGETHER] | None = None
    attributes: Attributes | None = None
    chunking_strategy: StrategyBody | None = None


def addition(body: NewMemberBody, place: str = "") -> Addition:
    """`place` is where in the request it stands, with a dot, if not at its top."""
    return Addition(
        document_of(body.file_id),
        strategy_of(body.chunking_strategy, f"{place}chunking_strategy"),
        body.attributes or {},
    )


def strategy_of(
    body: StrategyBody | None, place: str = "chunking_strategy"
) -> ChunkingStrategy | None:
    """None for what is ours to choose."""
    if body is None or body.type == "auto":
        return None
    if body.static is None:
        raise refuse("a static strategy needs its `static`", param=f"{place}.static")
    # Its size was checked by itself.
    with about(f"{place}.static.chunk_overlap_tokens"):
        return limits.strategy(body.static.max_chunk_size_tokens, body.static.chunk_overlap_tokens)
