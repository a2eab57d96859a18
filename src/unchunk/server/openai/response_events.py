"""A response as it comes about, in OpenAI's events and their order."""

from collections.abc import Iterator

from unchunk.chat.events import (
    Answer,
    Cited,
    Done,
    Event,
    Failed,
    Planned,
    SourcesFound,
    Token,
    gather,
)
from unchunk.server.openai.citing import file_citation, is_real
from unchunk.server.openai.response_items import output_text
from unchunk.server.openai.response_shapes import (
    ResponseFrame,
    message,
    response,
    search,
    status_of,
    whole,
)
from unchunk.server.openai.shapes import Shape
from unchunk.server.openai.telling import data, error_of


class ResponseEvents:
    """Writes the events; each has its number, from 0."""

    def __init__(self, frame: ResponseFrame) -> None:
        self._frame = frame
        self._events: list[Event] = []
        self._sent = 0
        self._annotations: list[Shape] = []
        self._planned: Planned | None = None
        self._items: list[Shape] = []
        self._has_message = False

    def take(self, event: Event) -> Iterator[bytes]:
        self._events.append(event)
        match event:
            case Planned():
                yield from self._begin(event)
            case SourcesFound():
                yield from self._found(event)
            case Token():
                yield from self._said(event.text)
            case Cited() if is_real(event):
                yield from self._cited(event)
            case Done():
                yield from self._done(gather(self._events))

    def fail(self, failure: Failed) -> Iterator[bytes]:
        if self._planned is None:
            error = error_of(failure)["error"]
            assert isinstance(error, dict)
            told = {name: error[name] for name in ("code", "message", "param")}
            yield self._event("error", told)
            return
        said = gather(self._events).answer
        items = [*self._items]
        if self._has_message:
            items.append(message(self._frame, "incomplete", [self._text(said)]))
        failed = response(self._frame, "failed", items, failure=failure)
        yield self._event("response.failed", {"response": failed})

    def _begin(self, planned: Planned) -> Iterator[bytes]:
        self._planned = planned
        begun = response(self._frame, "in_progress")
        yield self._event("response.created", {"response": begun})
        yield self._event("response.in_progress", {"response": begun})
        if planned.rag:
            item = search(self._frame, "in_progress", planned)
            yield self._event("response.output_item.added", {"output_index": 0, "item": item})
            about = {"output_index": 0, "item_id": self._frame.search_id}
            for state in ("in_progress", "searching"):
                yield self._event(f"response.file_search_call.{state}", about)

    def _found(self, sources: SourcesFound) -> Iterator[bytes]:
        assert self._planned is not None, "a plan comes before its sources"
        about = {"output_index": 0, "item_id": self._frame.search_id}
        yield self._event("response.file_search_call.completed", about)
        item = search(self._frame, "completed", self._planned, sources.documents)
        self._items.append(item)
        yield self._event("response.output_item.done", {"output_index": 0, "item": item})

    def _opened(self) -> Iterator[bytes]:
        """The beginning of the message, once."""
        if self._has_message:
            return
        self._has_message = True
        item = message(self._frame, "in_progress", [])
        added = {"output_index": len(self._items), "item": item}
        yield self._event("response.output_item.added", added)
        yield self._event("response.content_part.added", self._part() | {"part": self._text("")})

    def _said(self, text: str) -> Iterator[bytes]:
        yield from self._opened()
        yield self._event(
            "response.output_text.delta", self._part() | {"delta": text, "logprobs": []}
        )

    def _cited(self, cited: Cited) -> Iterator[bytes]:
        annotation = file_citation(cited)
        about = {"annotation_index": len(self._annotations), "annotation": annotation}
        self._annotations.append(annotation)
        yield self._event("response.output_text.annotation.added", self._part() | about)

    def _done(self, answer: Answer) -> Iterator[bytes]:
        yield from self._opened()
        part = self._text(answer.answer)
        text = {"text": answer.answer, "logprobs": []}
        yield self._event("response.output_text.done", self._part() | text)
        yield self._event("response.content_part.done", self._part() | {"part": part})
        item = message(self._frame, status_of(answer), [part])
        done = {"output_index": len(self._items), "item": item}
        yield self._event("response.output_item.done", done)
        final = whole(self._frame, answer)
        yield self._event(f"response.{final['status']}", {"response": final})

    def _text(self, text: str) -> Shape:
        return output_text(text, self._annotations)

    def _part(self) -> Shape:
        """Which part of the message an event is about: it has one."""
        return {
            "item_id": self._frame.message_id,
            "output_index": len(self._items),
            "content_index": 0,
        }

    def _event(self, kind: str, about: Shape) -> bytes:
        shape = {"type": kind, "sequence_number": self._sent, **about}
        self._sent += 1
        return data(shape, kind)
