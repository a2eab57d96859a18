"""What a provider's failure means to us. The SDK's errors end here, and no key gets through."""

import re
from typing import NamedTuple

import httpx2
from openai import APIConnectionError, APIStatusError

from unchunk.adapters.llm.chunks import StreamedError
from unchunk.adapters.llm.endpoints import Endpoint
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError, UnchunkError
from unchunk.ports.replies import TRANSIENT, asked_wait

_HINTS = {
    401: "; check the key",
    403: "; check what the key may do",
    404: "; check the URL and the name of the model",
}
_TOO_LONG = re.compile(
    r"(?i)context[ _](?:length|window|size)|maximum context|prompt is too long|too many tokens"
)
_FILTERED = re.compile(r"(?i)content[ _](?:filter|management policy)")
_KEY_LIKE = re.compile(r"\b(?:sk|key)-[\w*.-]+")
_LONGEST_MESSAGE = 300


class Said(NamedTuple):
    """What a provider said when it refused."""

    status: int
    message: str
    code: str

    @property
    def too_long(self) -> bool:
        return self.status == 413 or bool(_TOO_LONG.search(f"{self.code} {self.message}"))

    @property
    def filtered(self) -> bool:
        return bool(_FILTERED.search(f"{self.code} {self.message}"))

    @property
    def clear(self) -> bool:
        """Whether it is the text that was refused, and no parameter."""
        return self.too_long or self.filtered


def said_by(error: APIStatusError) -> Said:
    """In any of the usual shapes."""
    body, status = error.body, error.status_code
    if not isinstance(body, dict):
        given = body if isinstance(body, str) else error.response.text
        return Said(status, given or error.response.reason_phrase, "")
    message = body.get("message") or body.get("detail") or body
    return Said(status, str(message), f"{body.get('code') or ''} {body.get('type') or ''}")


class Faults:
    """Failures of one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._where = endpoint.where
        self._key = endpoint.key

    def status(self, said: Said, headers: httpx2.Headers | None = None) -> UnchunkError:
        message = f"{self._where} answered {said.status}: {self.clean(said.message)}"
        # A budget that is used up has the status of a rush, but does not pass.
        if said.status in TRANSIENT and "insufficient_quota" not in said.code:
            return ProviderUnavailableError(message, asked_wait(headers or {}))
        if said.status >= 500:
            return ProviderUnavailableError(message)
        if said.too_long:
            hint = "; the prompt is too long for this model: send less, or take a larger one"
            return ProviderRefusedError(message + hint, about_text=True)
        if said.filtered:
            hint = "; its filter refused what was sent"
            return ProviderRefusedError(message + hint, about_text=True)
        hint = "; it sends us elsewhere: check the URL" if said.status < 400 else ""
        return ProviderRefusedError(message + _HINTS.get(said.status, hint))

    def slow(self, what: str, seconds: float) -> ProviderUnavailableError:
        return ProviderUnavailableError(f"{self._where} {what} for {seconds:.3g} s")

    def connection(self, error: APIConnectionError | httpx2.RequestError) -> UnchunkError:
        cause = error.__cause__ if isinstance(error, APIConnectionError) else error
        reason = self.clean(str(cause or error)) or type(cause or error).__name__
        return ProviderUnavailableError(f"no answer from {self._where}: {reason}")

    def cut_off(self, reason: str = "it just ended") -> ProviderUnavailableError:
        return ProviderUnavailableError(
            f"the answer of {self._where} was cut off: {self.clean(reason)}"
        )

    def unreadable(self, reason: str) -> ProviderRefusedError:
        return ProviderRefusedError(
            f"the answer of {self._where} cannot be read: {self.clean(reason)};"
            " check that this URL speaks OpenAI's chat interface"
        )

    def streamed(self, error: StreamedError) -> UnchunkError:
        """Told amid an answer, as a status would have been."""
        code = error.code
        status = int(code) if code.isdecimal() and 400 <= int(code) < 600 else 0
        said = Said(status or 500, str(error), code)
        if not status and (said.clear or "invalid" in code or "BadRequest" in code):
            said = said._replace(status=400)
        fault = self.status(said)
        if status:
            return fault
        message = f"{self._where} broke off with an error: {self.clean(str(error))}"
        if isinstance(fault, ProviderRefusedError):
            return ProviderRefusedError(message, about_text=fault.about_text)
        return ProviderUnavailableError(message)

    def clean(self, message: str) -> str:
        """One short line without anything that may be a key."""
        message = " ".join(message.split())
        message = message.replace(self._key, "***") if self._key else message
        message = _KEY_LIKE.sub("***", message)
        return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"
