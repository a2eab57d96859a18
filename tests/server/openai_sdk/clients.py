"""The official client, as it is, against servers of ours over a socket.

What it is sent is checked against its own types: a field that is missing, or of another kind, is an
error where it would otherwise be overlooked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from openai import AsyncOpenAI, Omit, OpenAI, omit
from openai.types import FileObject
from openai.types.file_create_params import ExpiresAfter

from server.houses import House, house
from unchunk.server.options import Options

T = TypeVar("T")
PATIENCE = 60.0
SOON = 0.05


@dataclass
class Place:
    """A server, and the official clients for whoever may use it."""

    house: House
    sync: OpenAI

    @property
    def url(self) -> str:
        return f"{self.house.served.url}/v1"

    def alone(self, work: Callable[[AsyncOpenAI], Awaitable[T]]) -> T:
        """What `work` does with a client that is async."""

        async def done() -> T:
            async with AsyncOpenAI(**self._manner()) as client:
                return await work(client)

        return asyncio.run(done())

    def owned(self, owner: str) -> OpenAI:
        """A client with the key of an owner."""
        shown = self.house[owner].headers["Authorization"].removeprefix("Bearer ")
        return OpenAI(**{**self._manner(), "api_key": shown})

    def _manner(self) -> dict[str, Any]:
        return {
            "base_url": self.url,
            "api_key": "sk-of-somebody-else",
            "max_retries": 0,
            "timeout": PATIENCE,
            "_strict_response_validation": True,
        }


@contextmanager
def placed(folder: Path, *owners: str, options: Options | None = None) -> Iterator[Place]:
    """With owners, each needs a key, and `sync` is a client without one that is known here."""
    with house(folder, *owners, options=options) as served:
        manner = Place(served, OpenAI(api_key="none"))
        with OpenAI(**manner._manner()) as client:
            yield Place(served, client)


def prose(words: int, about: str = "harbour") -> str:
    """A text in which no two sentences are the same."""
    lines = (
        f"Sentence {at} tells of the {about} and of boat {at * 7}." for at in range(words // 10)
    )
    return "\n".join(lines)


def sent(client: OpenAI, name: str, content: str | bytes, lasts: int | None = None) -> FileObject:
    """A file that is sent and has been read; it `lasts` so many seconds, if not for ever."""
    data = content if isinstance(content, bytes) else content.encode()
    ends: ExpiresAfter | Omit = (
        omit if lasts is None else {"anchor": "created_at", "seconds": lasts}
    )
    file = client.files.create(file=(name, data), purpose="assistants", expires_after=ends)
    return client.files.wait_for_processing(file.id, poll_interval=SOON)
