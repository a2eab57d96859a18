"""What is asked of a provider, and how it is asked again where it does not know a parameter.

Does no I/O.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from unchunk.errors import InvalidTextError
from unchunk.ports import Message, Sampling

Limit = Literal["max_tokens", "max_completion_tokens"]

_NOT_UNDERSTOOD = frozenset({400, 422})
_UNKNOWN = re.compile(
    r"(?i)unsupported|not supported|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed"
    r"|extra (?:inputs|fields)|use '?max"
)
# Reasoning models refuse the older name, which every other server knows.
_NEWER = re.compile(r"(?:[\w.-]+/)?(?:o\d|gpt-[5-9])")


def limit_of(model: str, by_openai: bool) -> Limit:
    """OpenAI's own servers take the newer name for every model, others rarely know it."""
    return "max_completion_tokens" if by_openai or _NEWER.match(model) else "max_tokens"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`usage` asks for the token counts; None asks, too, but it is not yet known if that works."""

    model: str
    messages: Sequence[Message]
    sampling: Sampling
    limit: Limit
    usage: bool | None = None
    turned: bool = False

    def encoded(self) -> bytes:
        sampling = self.sampling
        body: dict[str, object] = {
            "model": self.model,
            "messages": list(map(dict, self.messages)),
            "stream": True,
        }
        if self.usage is not False:
            body["stream_options"] = {"include_usage": True}
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.max_tokens is not None:
            body[self.limit] = sampling.max_tokens
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        try:
            return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidTextError(
                "the messages hold half of a surrogate pair, or something that JSON has no form for"
            ) from error

    def otherwise(self, status: int, reason: str, *, clear: bool) -> "ChatRequest | None":
        """The same without what was refused; None if there is nothing to leave out.

        `clear` says that the reason is known to be another one.
        """
        if status not in _NOT_UNDERSTOOD or clear:
            return None
        if self._limit_refused(reason):
            other: Limit = (
                "max_tokens" if self.limit == "max_completion_tokens" else "max_completion_tokens"
            )
            return replace(self, limit=other, turned=True)
        named = "stream_options" in reason or "include_usage" in reason
        # Old servers do not always say what they did not know: one try tells.
        if (named and self.usage is not False) or self.usage is None:
            return replace(self, usage=False)
        return None

    def _limit_refused(self, reason: str) -> bool:
        named = re.search(rf"\b{self.limit}\b", reason)
        limited = self.sampling.max_tokens is not None and not self.turned
        return limited and named is not None and _UNKNOWN.search(reason) is not None
