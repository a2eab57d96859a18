"""The official client, over both transports, in both eras of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

T = TypeVar("T")

# "auto" speaks the newest, "legacy" begins with a handshake as those before 2026-07-28 do.
ERAS = ("auto", "legacy")
_PATIENCE = 60.0


@asynccontextmanager
async def over_http(url: str, key: str = "", era: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=_PATIENCE) as http:
        line = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(line, mode=era, read_timeout_seconds=_PATIENCE) as client:
            yield client


@asynccontextmanager
async def over_stdio(
    environment: Mapping[str, str], era: str = "auto", log: Path | None = None
) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "unchunk", "mcp"], env=dict(environment)
    )
    with (log or Path("/dev/null")).open("a") as complaints:
        line = stdio_client(command, complaints)
        async with Client(line, mode=era, read_timeout_seconds=_PATIENCE) as client:
            yield client


class Hearing:
    """What was told of progress; `begun` is set by the first of it."""

    def __init__(self) -> None:
        self.told: list[tuple[float, str | None]] = []
        self.begun = asyncio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        self.told.append((progress, message))
        self.begun.set()


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def told(client: Client, tool: str, **arguments: object) -> str:
    """What a tool says that does what it should."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """What a tool says that does not."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def done() -> T:
        async with asyncio.timeout(120):
            return await work()

    return asyncio.run(done())
