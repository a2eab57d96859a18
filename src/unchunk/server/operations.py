"""What those who run a server ask it: is it up, can it work, what has it done."""

from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from unchunk.engine import Counts
from unchunk.server.access import AskerOrNobody, House, InHouse, Owner
from unchunk.server.checkup import Readiness
from unchunk.server.documented import Problem, told
from unchunk.server.identity import Asker
from unchunk.server.metrics import MEDIA_TYPE, Snapshot
from unchunk.server.rendering import reply
from unchunk.telemetry import Condition

# Chunkenizer's clients look for it under both.
health_router = APIRouter(tags=["operations"])
router = APIRouter(tags=["operations"])
_OK, _ERROR = "ok", "error"


class Alive(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"live": True}]})

    live: Literal[True]


class Ready(BaseModel):
    """`reasons` tell what is wrong, also with parts that answers can do without."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ready": True, "reasons": []}]})

    ready: bool
    reasons: list[str]


class Health(BaseModel):
    """Chunkenizer's fields, and ours: `sqlite` is the catalog, `qdrant` the index."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "status": "ok",
                    "sqlite": "ok",
                    "qdrant": "ok",
                    "embedding_model": "local",
                    "live": True,
                    "ready": True,
                    "reasons": [],
                }
            ]
        }
    )

    status: Literal["ok", "error"]
    sqlite: str
    qdrant: str
    embedding_model: str
    live: Literal[True]
    ready: bool
    reasons: list[str]


class Part(BaseModel):
    """`reason` says why it is not ok, or what else is to be known."""

    ok: bool
    reason: str


class Parts(BaseModel):
    catalog: Part
    index: Part
    embedder: Part
    chat: Part


class StatusEmbedder(BaseModel):
    """Without dimensions, it has not answered yet; without `min_score`, it is not calibrated yet."""

    name: str
    dimensions: int | None
    max_tokens: int | None
    min_score: float | None


class StatusIndex(BaseModel):
    kind: str


class StatusChat(BaseModel):
    """Without a model, answers are quotes."""

    model: str
    window: int | None


class StatusLibrary(BaseModel):
    """Of who asks."""

    documents: int
    chunks: int
    pending: int
    failed: int


class StatusStreams(BaseModel):
    running: int


class StatusLimits(BaseModel):
    """In bytes."""

    max_upload: int
    max_body: int


class Status(BaseModel):
    """`counters` and `seconds` are of all owners, since the server began.

    They are there for the `operator` alone, whose the settings are, and so are reasons; of streams,
    everybody else is told their own.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "version": "0.5.0",
                    "operator": True,
                    "uptime_seconds": 12.5,
                    "health": {
                        "catalog": {"ok": True, "reason": ""},
                        "index": {"ok": True, "reason": ""},
                        "embedder": {"ok": True, "reason": ""},
                        "chat": {"ok": True, "reason": "no model is set up: answers are quotes"},
                    },
                    "embedder": {
                        "name": "granite-embedding-30m-english",
                        "dimensions": 384,
                        "max_tokens": 512,
                        "min_score": 0.6,
                    },
                    "index": {"kind": "edge"},
                    "chat": {"model": "", "window": None},
                    "chunking": "800 chars, overlap 0, at markdown boundaries",
                    "library": {"documents": 3, "chunks": 41, "pending": 0, "failed": 0},
                    "counters": {"searches": 2, "files_added": 3},
                    "seconds": {"search": 0.08, "extract": 0.4},
                    "streams": {"running": 0},
                    "limits": {"max_upload": 200_000_000, "max_body": 4_000_000},
                }
            ]
        }
    )

    version: str
    operator: bool
    uptime_seconds: float
    health: Parts
    embedder: StatusEmbedder
    index: StatusIndex
    chat: StatusChat
    chunking: str
    library: StatusLibrary
    counters: dict[str, int]
    seconds: dict[str, float]
    streams: StatusStreams
    limits: StatusLimits


def _or_not(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The same reply tells that it is not well, with 503."""
    description = "It is not ready: the reply says why."
    return told(model) | {503: {"model": model | Problem, "description": description}}


@health_router.get("/health", responses=_or_not(Health))
async def health(house: InHouse, asker: AskerOrNobody) -> Response:
    """Whether questions can be answered from documents: 503 where not, with the reasons."""
    found = _for(house, asker, await house.checkup.readiness())
    body = {
        "status": _OK if found.ready else _ERROR,
        "sqlite": _word(found.parts["catalog"]),
        "qdrant": _word(found.parts["index"]),
        "embedding_model": house.options.embedder,
        "live": True,
        "ready": found.ready,
        "reasons": found.reasons,
    }
    return reply(body, 200 if found.ready else 503)


@router.get("/health/live", responses=told(Alive))
async def live() -> Response:
    """That the server runs; nothing else is asked. Restart it where this does not answer."""
    return reply({"live": True})


@router.get("/health/ready", responses=_or_not(Ready))
async def ready(house: InHouse, asker: AskerOrNobody) -> Response:
    """Whether to send requests here: 503 while catalog or index do not answer, and at the end.

    An embedder or a chat model that does not answer is among the reasons, but no reason to stay
    away: search by words and quotes go on.
    """
    found = _for(house, asker, await house.checkup.readiness())
    body = {"ready": found.ready, "reasons": found.reasons}
    return reply(body, 200 if found.ready else 503)


@router.get("/api/status", responses=told(Status))
async def status(house: InHouse, owner: Owner) -> Response:
    """What the server is made of, how its parts are, and what it has done so far."""
    options, streams = house.options, house.streams
    parts = (await house.checkup.readiness()).parts
    is_operator = owner == options.owner
    makeup = await house.engine.makeup()
    counts = await house.engine.counts(owner=owner)
    identity = makeup.embedder
    return reply(
        {
            "version": options.version,
            "operator": is_operator,
            "uptime_seconds": round(house.uptime(), 3),
            "health": {
                name: {"ok": it.ok, "reason": it.reason if is_operator else ""}
                for name, it in parts.items()
            },
            "embedder": {
                "name": identity.name if identity else options.embedder,
                "dimensions": identity.dimensions if identity else None,
                "max_tokens": identity.max_tokens if identity else None,
                "min_score": (identity.min_score or None) if identity else None,
            },
            "index": {"kind": makeup.index},
            "chat": {"model": makeup.chat, "window": makeup.window},
            "chunking": str(makeup.chunking),
            "library": _library(counts),
            "counters": counts.counters if is_operator else {},
            "seconds": counts.seconds if is_operator else {},
            "streams": {"running": streams.running if is_operator else streams.running_for(owner)},
            "limits": {"max_upload": options.max_upload, "max_body": options.max_body},
        }
    )


@router.get(
    "/metrics",
    response_class=Response,
    responses=told(None)
    | {
        200: {
            "description": "Counters and gauges in Prometheus' text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
)
async def metrics(house: InHouse) -> Response:
    """Counters and gauges for Prometheus. No label says whose something is or what was asked."""
    found = await house.checkup.readiness()
    snapshot = Snapshot(
        house.options.version,
        await house.checkup.counts(),
        found.parts,
        house.streams.running,
        house.streams.kept,
        await house.jobs.counts(),
    )
    return Response(house.metrics.shown(snapshot), media_type=MEDIA_TYPE)


def _for(house: House, asker: Asker | None, found: Readiness) -> Readiness:
    """Reasons may name places and other machines: only whose the settings are learns them."""
    if asker is not None and asker.owner == house.options.owner:
        return found
    parts = {name: Condition(it.ok, "" if it.ok else _ERROR) for name, it in found.parts.items()}
    return Readiness(found.ready, parts, [])


def _library(counts: Counts) -> dict[str, int]:
    return {
        "documents": counts.documents,
        "chunks": counts.chunks,
        "pending": counts.pending,
        "failed": counts.failed,
    }


def _word(part: Condition) -> str:
    return _OK if part.ok else part.reason
