"""A reranker behind a URL: Cohere's, Jina's, and servers that answer as they do."""

import asyncio
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from unchunk.domain import ChunkingStrategy
from unchunk.errors import (
    InvalidSettingError,
    InvalidTextError,
    ProviderRefusedError,
    ProviderUnavailableError,
)
from unchunk.ports.replies import TRANSIENT, asked_wait
from unchunk.telemetry import trace_headers
from unchunk.text.windows import windows

_ABOUT_TEXT = frozenset({400, 413, 422})
_HINTS = {
    401: "; check the key",
    403: "; check what the key may do",
    404: "; check the URL and the name of the model",
}
_KEY_LIKE = re.compile(r"\b(?:sk|key)-[\w*.-]+")
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Patience:
    """`timeout` is for one attempt, `deadline` for all of them and the waits between, in seconds.

    Someone waits for the answer, and can do without: hence little of it.
    """

    attempts: int = 3
    timeout: float = 10.0
    deadline: float = 20.0
    first_wait: float = 0.5

    def wait(self, failures: int, asked: float | None) -> float:
        """How long to wait after so many failures: as asked, or at random up to a doubling bound."""
        if asked is not None:
            return asked
        return random.uniform(0, self.first_wait * 2.0 ** (failures - 1))  # noqa: S311 -- spreads load


class RemoteReranker:
    """Belongs to the event loop that it is first used in. Connects at first use.

    `url` ends where `/rerank` follows. A text of more than `max_characters` goes as several,
    since servers cut what their model cannot read and do not tell. All texts of a call go in
    one request: some models read them together.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        *,
        max_characters: int = 6000,
        patience: Patience | None = None,
    ) -> None:
        self._url = f"{url.rstrip('/').removesuffix('/rerank')}/rerank"
        self._where = _where(self._url)
        if not (key.isascii() and key.isprintable() and " " not in key):
            # The key itself is left out on purpose.
            raise InvalidSettingError(
                "the reranker's key holds a blank, a line end or a character that no key has"
            )
        self._model = model
        self._key = key
        self._parts = ChunkingStrategy("chars", max_characters, max_characters // 10)
        self._patience = patience or Patience()
        self._client: httpx2.AsyncClient | None = None

    @property
    def name(self) -> str:
        return self._model

    async def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """Scores that are not all between 0 and 1 are brought there, without a change of order."""
        _check([question, *texts])
        # No provider takes a blank text, and there is nothing in it.
        parts = [
            (at, text[span.start : span.end])
            for at, text in enumerate(texts)
            if text.strip()
            for span in windows(text, self._parts)
        ]
        if not parts:
            return [0.0] * len(texts)
        found = _between_0_and_1(await self._ask(question, [part for _, part in parts]))
        best = [0.0] * len(texts)
        for (at, _), score in zip(parts, found, strict=True):
            best[at] = max(best[at], score)
        return best

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _ask(self, question: str, documents: list[str]) -> list[float]:
        patience, loop = self._patience, asyncio.get_running_loop()
        body = {
            "model": self._model,
            "query": question,
            "documents": documents,
            "top_n": len(documents),
        }
        end = loop.time() + patience.deadline
        failures = 0
        while True:
            try:
                return await self._attempt(body, end - loop.time())
            except ProviderUnavailableError as error:
                failures += 1
                wait = patience.wait(failures, error.retry_after)
                if failures >= patience.attempts or loop.time() + wait >= end:
                    raise
            await asyncio.sleep(wait)

    async def _attempt(self, body: dict[str, Any], left: float) -> list[float]:
        seconds = min(self._patience.timeout, left)
        if self._client is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            # Time is measured around the whole attempt.
            self._client = httpx2.AsyncClient(headers=headers, timeout=None)
        try:
            async with asyncio.timeout(seconds):
                response = await self._client.post(self._url, json=body, headers=trace_headers())
        except TimeoutError as error:
            raise ProviderUnavailableError(
                f"{self._where} did not answer within {seconds:.3g} s"
            ) from error
        except httpx2.RequestError as error:
            reason = self._clean(str(error)) or type(error).__name__
            raise ProviderUnavailableError(f"no answer from {self._where}: {reason}") from error
        if not response.is_success:
            raise self._failure(response)
        try:
            return _read_scores(response.json(), len(body["documents"]))
        except (ValueError, RecursionError) as error:
            reason = self._clean(str(error))
            raise ProviderRefusedError(
                f"the answer of {self._where} cannot be read: {reason}; check the URL"
            ) from error

    def _failure(self, response: httpx2.Response) -> Exception:
        status = response.status_code
        said = f"{self._where} answered {status}: {self._clean(_reason(response))}"
        if status in TRANSIENT:
            return ProviderUnavailableError(said, asked_wait(response.headers))
        about_text = status in _ABOUT_TEXT
        return ProviderRefusedError(said + _HINTS.get(status, ""), about_text=about_text)

    def _clean(self, message: str) -> str:
        """One short line without anything that may be a key."""
        message = " ".join(message.split())
        message = message.replace(self._key, "***") if self._key else message
        message = _KEY_LIKE.sub("***", message)
        return message if len(message) <= _LONGEST_MESSAGE else message[:_LONGEST_MESSAGE] + "…"


def _check(texts: Sequence[str]) -> None:
    try:
        for text in texts:
            text.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise InvalidTextError(
            "a text to rerank is not a string, or holds half of a surrogate pair"
        ) from error


def _where(url: str) -> str:
    """The URL for people: without what may be a key."""
    try:
        httpx2.URL(url)
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except (ValueError, httpx2.InvalidURL) as error:
        raise InvalidSettingError("the reranker's URL is none") from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidSettingError(
            "the reranker's URL must begin with http:// or https:// and name a host"
        )
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "") + parts.path


def _read_scores(reply: Any, count: int) -> list[float]:  # noqa: ANN401 -- JSON, and nobody vouches for it
    """One score for each text, in their order; `ValueError` says what is wrong with the answer."""
    try:
        found = {row["index"]: float(row["relevance_score"]) for row in reply["results"]}
        scores = [found[at] for at in range(count)]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("its scores are not where or what they should be") from error
    if len(reply["results"]) != count or not all(map(math.isfinite, scores)):
        raise ValueError("its scores are too many, or no numbers")
    return scores


def _between_0_and_1(scores: list[float]) -> list[float]:
    if all(0 <= score <= 1 for score in scores):
        return scores
    # Beyond 700 the exponential overflows.
    return [1 / (1 + math.exp(-min(700.0, max(-700.0, score)))) for score in scores]


def _reason(response: httpx2.Response) -> str:
    """What the provider says, in any of the usual shapes."""
    try:
        reply = response.json()
    except (ValueError, RecursionError):
        return response.text or response.reason_phrase
    error = reply.get("error", reply) if isinstance(reply, dict) else reply
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or error.get("detail") or error)
