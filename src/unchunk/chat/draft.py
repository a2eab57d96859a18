"""An answer while it is being written: its text, its citations, and what ended it."""

from collections.abc import Iterator, Sequence

from unchunk.chat.citations import CitationChecker
from unchunk.chat.events import Cited, Event, Failed, Finish, Token, Warned
from unchunk.chat.sent import Sent
from unchunk.errors import ProviderUnavailableError, TransientError, UnchunkError
from unchunk.ports import Delta, TokenUsage
from unchunk.retrieval.evidence import ReconstructedDocument

_CUT_SHORT: dict[Finish, Warned] = {
    "length": Warned("cut", "the answer ends where the limit of tokens was reached"),
    "filtered": Warned("filtered", "the provider's content filter ended the answer"),
}


class Draft:
    """Every piece goes through here, a model's and a quote's, so that every citation is checked."""

    def __init__(self, documents: Sequence[ReconstructedDocument]) -> None:
        self._has_evidence = bool(documents)
        self._checker = CitationChecker(Sent(documents))
        self._pieces: list[str] = []
        self._citations: list[Cited] = []
        self.finish: Finish = "stop"
        self.usage: TokenUsage | None = None
        self.error: UnchunkError | None = None

    def anew(self, documents: Sequence[ReconstructedDocument]) -> "Draft":
        """Begin again after an error, with other documents to cite."""
        made = Draft(documents)
        made.finish, made.usage, made.error = self.finish, self.usage, self.error
        return made

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def is_empty(self) -> bool:
        return not self._pieces

    @property
    def is_quoted(self) -> bool:
        """Whether no model wrote it."""
        return self.finish in ("extractive", "refused")

    def take(self, delta: Delta) -> Iterator[Event]:
        """The next piece of a model's answer."""
        if delta.finish in ("length", "filtered"):
            self.finish = "length" if delta.finish == "length" else "filtered"
        self.usage = delta.usage or self.usage
        yield from self._noted(self._checker.feed(delta.text))

    def quote(self, text: str, finish: Finish) -> Iterator[Event]:
        """An answer that no model wrote, line by line."""
        self.finish = finish
        for line in text.splitlines(keepends=True):
            yield from self._noted(self._checker.feed(line))
        yield from self.end()

    def check_said(self) -> None:
        """Raises if the model ended its answer without having said anything."""
        if not self.is_empty:
            return
        if self.finish == "length":
            raise ProviderUnavailableError(
                "the model used up its tokens before it said anything: allow it more of them"
            )
        why = ": the provider's content filter ended it" if self.finish == "filtered" else ""
        raise ProviderUnavailableError(f"the model returned an empty answer{why}")

    def end(self) -> Iterator[Event]:
        """What was held back because it might have become a citation."""
        yield from self._noted(self._checker.finish())

    def fail(self, error: UnchunkError) -> Iterator[Event]:
        """The model is of no more use; what it said so far stays."""
        yield from self.end()
        self.error = error
        self.finish = "failed"
        yield Failed(error.code, str(error), isinstance(error, TransientError))

    def doubts(self) -> Iterator[Warned]:
        """What is to be said of the answer when it is there."""
        if self.finish in _CUT_SHORT:
            yield _CUT_SHORT[self.finish]
        unknown = list(dict.fromkeys(one.text for one in self._citations if one.state == "unknown"))
        if unknown:
            names = ", ".join(unknown[:5]) + (" and more" if len(unknown) > 5 else "")
            yield Warned("citation", f"the answer cites what it was not given: {names}")
        elif self._has_evidence and not self._citations and self.finish in ("stop", "length"):
            yield Warned("uncited", "the answer cites none of its sources")

    def _noted(self, events: Iterator[Token | Cited]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Token):
                self._pieces.append(event.text)
            else:
                self._citations.append(event)
            yield event
