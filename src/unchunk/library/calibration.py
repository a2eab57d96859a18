"""Measure the cosine at which a match begins to mean something, for embedders that do not say it.

Models that come with unchunk have a threshold that was measured at release. Of a model behind a URL
nothing is known, so it is asked to embed a few probes: the threshold is the cosine that half of the
questions stay below with the nearest of the passages that have nothing to do with them, and no more
than what nearly all questions reach with the passage that answers them. The probes are always the
same, so that a library about a single matter gets the same threshold as any other.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, Protocol

import numpy as np

from unchunk.domain import EmbedderIdentity
from unchunk.errors import ProviderRefusedError, ProviderUnavailableError
from unchunk.library.probes import PROBES
from unchunk.ports import Catalog, Embedder, Role, Vectors
from unchunk.telemetry import log

THRESHOLD: Final = "threshold:"
"""How the key of a noted threshold begins; the fingerprint of its embedder follows."""
# A threshold of 0 would mean that there is none.
_LEAST = 0.01
_NEARLY_ALL = 0.05
# Seconds after a failed calibration until the next attempt.
_AGAIN = 60.0


class Thresholds(Protocol):
    """Where measured thresholds are kept."""

    async def load(self, fingerprint: str) -> float | None: ...

    async def keep(self, fingerprint: str, threshold: float) -> float:
        """Keep it unless there is one already; tell which one holds."""
        ...


class NotedThresholds:
    """`Thresholds` among the notes of a library, the same for all processes that have it open."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def load(self, fingerprint: str) -> float | None:
        noted = (await self._catalog.notes()).get(THRESHOLD + fingerprint)
        return float(noted) if noted else None

    async def keep(self, fingerprint: str, threshold: float) -> float:
        return float(await self._catalog.note_once(THRESHOLD + fingerprint, f"{threshold:.4f}"))


class FileThresholds:
    """`Thresholds` in a small JSON file, for collections, in which nothing of ours can be kept.

    `provider` says which embedder is asked, and where: two servers may use one name for different
    models.
    """

    def __init__(self, path: Path, provider: str) -> None:
        self._path, self._provider = path, provider

    async def load(self, fingerprint: str) -> float | None:
        found = (await asyncio.to_thread(self._read)).get(self._key(fingerprint))
        return found if isinstance(found, float) else None

    async def keep(self, fingerprint: str, threshold: float) -> float:
        try:
            await asyncio.to_thread(self._write, self._key(fingerprint), threshold)
        except OSError as error:
            log("the threshold of an embedder cannot be kept in %s: %s", self._path, error)
        return threshold

    def _key(self, fingerprint: str) -> str:
        # Only a digest: the address of a provider may hold a password.
        return sha256(f"{self._provider} {fingerprint}".encode()).hexdigest()[:16]

    def _read(self) -> dict[str, object]:
        try:
            kept = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _write(self, key: str, threshold: float) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps(self._read() | {key: threshold}, indent=1)
        with NamedTemporaryFile("w", dir=self._path.parent, delete=False) as file:
            file.write(text)
        Path(file.name).replace(self._path)


class CalibratedEmbedder:
    """`Embedder` around one without a threshold, which is calibrated when it is first used.

    A call that succeeds shows that the provider can be reached, so calibration follows it and costs
    nothing where the provider is down. Until then `identity.min_score` is 0, and `problem` says why
    calibration failed, if it did.
    """

    def __init__(
        self,
        embedder: Embedder,
        thresholds: Thresholds | None = None,
        threshold: float | None = None,
    ) -> None:
        """`threshold` is the one to use, where it is known; without `thresholds`, none is kept."""
        self._embedder, self._thresholds = embedder, thresholds
        self._calibrating = asyncio.Lock()
        self._again = 0.0
        self.problem = ""
        self.identity: EmbedderIdentity = _with(embedder.identity, threshold)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        vectors = await self._embedder.embed(texts, role)
        if not self.identity.min_score:
            async with self._calibrating:
                if not self.identity.min_score and time.monotonic() >= self._again:
                    await self._calibrate()
        return vectors

    async def close(self) -> None:
        await self._embedder.close()

    async def _calibrate(self) -> None:
        fingerprint = self.identity.fingerprint
        kept = None if self._thresholds is None else await self._thresholds.load(fingerprint)
        if kept is None:
            try:
                kept = await measured(self._embedder)
            except (ProviderRefusedError, ProviderUnavailableError) as error:
                log("the embedder %s is not calibrated: %s", self.identity.name, error)
                self.problem, self._again = str(error), time.monotonic() + _AGAIN
                return
            if self._thresholds is not None:
                kept = await self._thresholds.keep(fingerprint, kept)
        self.problem = ""
        self.identity = _with(self.identity, kept)


def problem_of(embedder: Embedder | None) -> str:
    """Why an embedder could not be calibrated; empty if it was, or was not used yet."""
    return embedder.problem if isinstance(embedder, CalibratedEmbedder) else ""


def uncalibrated(embedder: Embedder | None) -> list[str]:
    """What a search should say of an embedder that could not be calibrated; else nothing."""
    if embedder is None or not (problem := problem_of(embedder)):
        return []
    name = embedder.identity.name
    return [
        f"embedder {name} is not calibrated yet, so results may include weak matches: {problem}"
    ]


async def measured(embedder: Embedder) -> float:
    """The threshold of an embedder, found with the probes: two calls, some fifty short texts."""
    passages = await embedder.embed([one.passage for one in PROBES], "document")
    questions = await embedder.embed([one.question for one in PROBES], "query")
    return threshold_of(questions @ passages.T)


def threshold_of(cosines: Vectors) -> float:
    """From the cosines of questions (rows) with passages, of which the diagonal answers them."""
    related = np.diagonal(cosines)
    unrelated = np.where(np.eye(len(cosines), dtype=bool), -np.inf, cosines)
    nearest = float(np.median(unrelated.max(axis=1)))
    return max(min(nearest, float(np.quantile(related, _NEARLY_ALL))), _LEAST)


def _with(identity: EmbedderIdentity, threshold: float | None) -> EmbedderIdentity:
    return identity if threshold is None else replace(identity, min_score=threshold)
