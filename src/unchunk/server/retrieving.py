"""Why a question is answered as it is: its evidence, how that was found, and the exact prompt."""

from collections.abc import Mapping
from dataclasses import asdict
from time import perf_counter

from fastapi import APIRouter
from starlette.responses import Response

from unchunk.chat.events import source
from unchunk.chat.explaining import Explanation
from unchunk.domain import DocumentId
from unchunk.retrieval.retriever import Evidence
from unchunk.retrieval.shelf import Candidate, Dropped, Place
from unchunk.server.access import InHouse, Owner, RequestId
from unchunk.server.bodies import RetrieveBody
from unchunk.server.documented import told
from unchunk.server.rendering import reply
from unchunk.server.replies import RetrieveReply

router = APIRouter(prefix="/api", tags=["search"])


@router.post("/retrieve", responses=told(RetrieveReply, 400, 404, 409))
async def retrieve(body: RetrieveBody, house: InHouse, owner: Owner, name: RequestId) -> Response:
    """Everything about an answer but the answer.

    The plan with its reasons, all that was found with the scores of each stage, what was dropped
    and for what, and the messages that a model would be sent. No model is asked to answer, and
    nothing is kept.
    """
    began = perf_counter()
    explained = await house.engine.explain(
        body.request(), owner=owner, request_id=name, before_turn=body.before_turn
    )
    took = (perf_counter() - began) * 1000
    return reply(_told(explained) | {"took_ms": round(took, 3)})


def _told(explained: Explanation) -> dict[str, object]:
    evidence = explained.evidence
    return {
        "plan": asdict(evidence.plan) if evidence else None,
        **_evidence(evidence),
        "warnings": [one.as_dict() for one in explained.warnings],
        "prompt": {"messages": list(explained.messages), "template": explained.template},
        "usage": explained.usage.as_dict(),
    }


def _evidence(evidence: Evidence | None) -> dict[str, object]:
    if evidence is None:
        lists = ("sources", "also_see", "omitted", "notes", "found", "dropped")
        return {name: [] for name in lists}
    names = evidence.names
    return {
        "sources": [
            source(one)
            | {"full_content": one.full_content, "gaps": [it._asdict() for it in one.gaps]}
            for one in evidence.documents
        ],
        "also_see": [one._asdict() for one in evidence.also_see],
        "omitted": [asdict(one) for one in evidence.omitted],
        "notes": list(evidence.notes),
        "found": [_candidate(one, names) for one in evidence.found],
        "dropped": [_dropped(one, names) for one in evidence.dropped],
    }


def _candidate(one: Candidate, names: Mapping[DocumentId, str]) -> dict[str, object]:
    ways = [it._asdict() for it in one.ways]
    known = _place(one.place, one.score, names) | {"found_by": one.found_by}
    return known | {"rank_score": one.rank_score, "ways": ways}


def _dropped(one: Dropped, names: Mapping[DocumentId, str]) -> dict[str, object]:
    return _place(one.place, one.score, names) | {"reason": one.reason}


def _place(place: Place, score: float, names: Mapping[DocumentId, str]) -> dict[str, object]:
    """A document that was not opened has no name here."""
    return {
        "document": place.document,
        "name": names.get(place.document, ""),
        "chunk_index": place.chunk_index,
        "score": score,
    }
