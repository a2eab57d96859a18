"""Vectors of real texts, kept in a file: what was embedded once is not embedded again."""

import sqlite3
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from unchunk.domain import EmbedderIdentity
from unchunk.ports import Embedder, Role, Vectors

_AT_ONCE = 256


class KeptVectors:
    """`Embedder` that asks another one for what is not kept yet."""

    def __init__(self, path: Path, embedder: Embedder, say: Callable[[str], None]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._embedder, self._say = embedder, say
        self._base = sqlite3.connect(path, timeout=60)
        self._base.execute("create table if not exists vectors (key blob primary key, row blob)")

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        by_key = {self._key(text, role): text for text in texts}
        waiting = [key for key in by_key if self._kept(key) is None]
        for first in range(0, len(waiting), _AT_ONCE):
            some = waiting[first : first + _AT_ONCE]
            made = await self._embedder.embed([by_key[key] for key in some], role)
            rows = [(key, row.tobytes()) for key, row in zip(some, made, strict=True)]
            self._base.executemany("insert or replace into vectors values (?, ?)", rows)
            self._base.commit()
            if len(waiting) > _AT_ONCE:
                self._say(f"{first + len(some)} of {len(waiting)} texts embedded")
        kept = [self._kept(self._key(text, role)) or b"" for text in texts]
        return np.stack([np.frombuffer(row, np.float32) for row in kept])

    async def close(self) -> None:
        """Stays open, for the next library; `end` closes it."""

    async def end(self) -> None:
        self._base.close()
        await self._embedder.close()

    def _kept(self, key: bytes) -> bytes | None:
        found = self._base.execute("select row from vectors where key = ?", (key,)).fetchone()
        return found[0] if found else None

    def _key(self, text: str, role: Role) -> bytes:
        about = f"{self.identity}\0{role}\0{text}"
        return blake2b(about.encode(), digest_size=16).digest()
