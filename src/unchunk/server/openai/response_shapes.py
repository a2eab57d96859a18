"""An answer as a response: the search that was made for it, and the message."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from unchunk.chat.events import Answer, Failed, Finish, Planned
from unchunk.domain import DocumentId
from unchunk.ports import Attribute
from unchunk.retrieval.evidence import Passage, ReconstructedDocument
from unchunk.server.openai.citing import file_citation, is_real, provenance
from unchunk.server.openai.ids import file_id
from unchunk.server.openai.response_bodies import RESULTS, ResponseBody
from unchunk.server.openai.response_items import output_text
from unchunk.server.openai.shapes import Shape

Status = Literal["in_progress", "completed", "incomplete", "failed"]
_CUT_SHORT: dict[Finish, str] = {"length": "max_output_tokens", "filtered": "content_filter"}


@dataclass(frozen=True, slots=True)
class ResponseFrame:
    """What all states of one response have in common.

    `attributes` are those of the files that are found, filled in when they are.
    """

    id: str
    created: int
    model: str
    body: ResponseBody
    search_id: str
    message_id: str
    attributes: dict[DocumentId, Mapping[str, Attribute]] = field(default_factory=dict)

    @property
    def with_results(self) -> bool:
        return RESULTS in (self.body.include or ())


def response(
    frame: ResponseFrame,
    status: Status,
    output: Sequence[Shape] = (),
    *,
    answer: Answer | None = None,
    failure: Failed | None = None,
) -> Shape:
    body = frame.body
    reason = _CUT_SHORT.get(answer.finish) if answer else None
    return {
        "id": frame.id,
        "object": "response",
        "created_at": frame.created,
        "status": status,
        "background": False,
        "error": failure and {"code": "server_error", "message": failure.message},
        "incomplete_details": reason and {"reason": reason},
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "metadata": body.metadata or {},
        "model": frame.model,
        "output": list(output),
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "previous_response_id": body.previous_response_id,
        "store": body.store is not False,
        "temperature": body.temperature,
        "text": {"format": {"type": "text"}},
        "tool_choice": body.tool_choice or "auto",
        "tools": [one.model_dump(exclude_unset=True) for one in body.tools or ()],
        # Left to the provider, and to the library, whatever was asked for.
        "top_p": None,
        "truncation": "auto",
        "usage": _usage(answer) if answer else None,
        **({"unchunk": provenance(answer)} if answer else {}),
    }


def whole(frame: ResponseFrame, answer: Answer) -> Shape:
    """The response to an answer that did not fail."""
    return response(frame, status_of(answer), output(frame, answer), answer=answer)


def status_of(answer: Answer) -> Literal["completed", "incomplete"]:
    return "incomplete" if answer.finish in _CUT_SHORT else "completed"


def output(frame: ResponseFrame, answer: Answer) -> list[Shape]:
    annotations = [file_citation(one) for one in answer.citations if is_real(one)]
    said = message(frame, status_of(answer), [output_text(answer.answer, annotations)])
    if answer.plan is None or not answer.plan.rag:
        return [said]
    return [search(frame, "completed", answer.plan, answer.sources.documents), said]


def search(
    frame: ResponseFrame,
    status: Literal["in_progress", "completed"],
    planned: Planned,
    found: Sequence[ReconstructedDocument] = (),
) -> Shape:
    """`results` are what the model was given to read, for who asks for them."""
    results = list(_results(frame, found)) if frame.with_results else None
    plan = planned.plan
    queries = dict.fromkeys(filter(None, (plan.question, plan.search_text))) if plan else ()
    return {
        "id": frame.search_id,
        "type": "file_search_call",
        "status": status,
        "queries": list(queries),
        "results": results if status == "completed" else None,
    }


def message(
    frame: ResponseFrame,
    status: Literal["in_progress", "completed", "incomplete"],
    content: Sequence[Shape],
) -> Shape:
    return {
        "id": frame.message_id,
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": list(content),
    }


def _results(frame: ResponseFrame, found: Sequence[ReconstructedDocument]) -> Iterator[Shape]:
    """A passage each, the best first."""
    every = [(one, passage, _score(one, passage)) for one in found for passage in one.passages]
    for one, passage, score in sorted(every, key=lambda it: -it[2]):
        yield {
            "file_id": file_id(one.document),
            "filename": one.name,
            "score": score,
            "attributes": dict(frame.attributes.get(one.document, {})),
            "text": passage.text,
        }


def _score(document: ReconstructedDocument, passage: Passage) -> float:
    """That of its best hit, as far as it has one."""
    inside = range(passage.first_chunk, passage.last_chunk + 1)
    scores = [one.score for one in document.chunks if one.chunk_index in inside]
    return min(max(scores, default=0.0), 1.0) if scores and max(scores) > 0 else 0.0


def _usage(answer: Answer) -> Shape | None:
    if answer.usage is None:
        return None
    read, said = answer.usage.prompt_tokens or 0, answer.usage.completion_tokens or 0
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + said,
    }
