"""An answer as OpenAI's chat gives it: whole, or in chunks."""

from collections.abc import Iterator
from dataclasses import dataclass

from unchunk.chat.events import Answer, Cited, Done, Event, Failed, Finish, Planned, Token, gather
from unchunk.server.openai.citing import is_real, provenance, url_citation
from unchunk.server.openai.shapes import Shape
from unchunk.server.openai.telling import data, error_of

_FINISHES: dict[Finish, str] = {"length": "length", "filtered": "content_filter"}
_END = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class CompletionFrame:
    """What all parts of one reply have in common; `base` is where the page is."""

    id: str
    created: int
    model: str
    base: str
    with_usage: bool = False


def completion(frame: CompletionFrame, answer: Answer) -> Shape:
    message = {
        "role": "assistant",
        "content": answer.answer,
        "refusal": None,
        "annotations": [url_citation(one, frame.base) for one in answer.citations if is_real(one)],
    }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": _finish(answer),
        "logprobs": None,
    }
    return {
        **_head(frame, "chat.completion"),
        "choices": [choice],
        "usage": _usage(answer),
        "unchunk": provenance(answer),
    }


class Chunks:
    """Writes an answer in chunks; annotations come among its text, as they are found."""

    def __init__(self, frame: CompletionFrame) -> None:
        self._frame = frame
        self._events: list[Event] = []
        self._annotations = 0

    def take(self, event: Event) -> Iterator[bytes]:
        self._events.append(event)
        match event:
            case Planned():
                yield self._chunk({"role": "assistant", "content": "", "refusal": None})
            case Token():
                yield self._chunk({"content": event.text})
            case Cited() if is_real(event):
                # Clients put lists together by this.
                annotation = {"index": self._annotations, **url_citation(event, self._frame.base)}
                self._annotations += 1
                yield self._chunk({"annotations": [annotation]})
            case Done():
                yield from self._done(gather(self._events))

    def fail(self, failure: Failed) -> Iterator[bytes]:
        yield data(error_of(failure))

    def _done(self, answer: Answer) -> Iterator[bytes]:
        more: Shape = {"unchunk": provenance(answer)}
        yield self._chunk({}, _finish(answer), more)
        if self._frame.with_usage:
            head = _head(self._frame, "chat.completion.chunk")
            yield data({**head, "choices": [], "usage": _usage(answer)})
        yield _END

    def _chunk(self, delta: Shape, finish: str | None = None, more: Shape | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        usage: Shape = {"usage": None} if self._frame.with_usage else {}
        head = _head(self._frame, "chat.completion.chunk")
        return data({**head, "choices": [choice], **usage, **(more or {})})


def _head(frame: CompletionFrame, kind: str) -> Shape:
    return {
        "id": frame.id,
        "object": kind,
        "created": frame.created,
        "model": frame.model,
        "system_fingerprint": None,
    }


def _finish(answer: Answer) -> str:
    """Quotes, and that nothing was found, are whole answers."""
    return _FINISHES.get(answer.finish, "stop")


def _usage(answer: Answer) -> Shape | None:
    if answer.usage is None:
        return None
    prompt, said = answer.usage.prompt_tokens or 0, answer.usage.completion_tokens or 0
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}
