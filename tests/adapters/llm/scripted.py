"""A model of ours that speaks OpenAI's chat protocol over a real socket, and fails as it is told.

In a test:

    with ScriptedModel() as server:
        server.script.append(answer("One", " two"))     # what the next requests get
        ... ask server.url + "/v1" ...
        assert server.settled(lambda: server.finished == 1)

What is not scripted goes by the model's name: `echo`, `hang`, `cut`, `stream:200:0.005` for 200
tokens with 5 ms between them, and so on; see `named`. It also answers `/models`, and Ollama's
`/api/show` and `/api/ps`, from `listed`, `shown` and `running`.

As a process of its own, for a benchmark: `python tests/adapters/llm/scripted.py` prints its URL
and ends with its standard input; `GET /stats` tells the counts. `own_process()` does both.
"""

import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

WORDS = ("The", " pilot", " boards", " at", " the", " outer", " buoy", ".")


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: Any

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers.items() if key.lower() == name.lower()]
        return found[0] if found else None


class Exchange:
    """One request, and how to answer it."""

    def __init__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._writer = writer
        self.chunked = False

    async def reply(self, status: int, content: object, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        head = {"content_type": "application/json", "content_length": str(len(data))} | headers
        await self._head(status, head)
        await self.send(data)

    async def begin(self, **headers: str) -> None:
        """A stream in chunks, unless it is said to last as long as the connection."""
        head = {"content_type": "text/event-stream"} | headers
        if headers.get("connection") != "close":
            head["transfer_encoding"] = "chunked"
        await self._head(200, head)
        self.chunked = "transfer_encoding" in head

    async def event(self, data: object) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        await self.send(f"data: {text}\n\n".encode())

    async def send(self, data: bytes) -> None:
        if self.chunked:
            data = f"{len(data):x}\r\n".encode() + data + b"\r\n"
        self._writer.write(data)
        await self._writer.drain()

    async def end(self) -> None:
        if self.chunked:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
        else:
            self._writer.close()

    def cut(self) -> None:
        self._writer.transport.abort()

    async def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())
        await self._writer.drain()


Behaviour = Callable[[Exchange], Awaitable[None]]


def piece(text: str | None = None, finish: str | None = None, **more: object) -> dict[str, Any]:
    """A chunk of an answer, as OpenAI sends it."""
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion.chunk", "choices": [choice], **more}


def answer(*tokens: str, pause: float = 0.0, first: float = 0.0, finish: str = "stop") -> Behaviour:
    """A whole answer, with its counts if they were asked for; `first` seconds of thought."""

    async def behave(exchange: Exchange) -> None:
        body = exchange.request.body
        most = body.get("max_completion_tokens") or body.get("max_tokens") or 1 << 30
        given = (tokens or WORDS)[:most]
        await asyncio.sleep(first)
        await exchange.begin()
        await exchange.event(piece(""))
        for token in given:
            if pause:
                await asyncio.sleep(pause)
            await exchange.event(piece(token))
        whole = len(given) == len(tokens or WORDS)
        await exchange.event(piece(finish=finish if whole else "length"))
        if (body.get("stream_options") or {}).get("include_usage"):
            words = sum(len(str(each).split()) for each in body["messages"])
            usage = {"prompt_tokens": words, "completion_tokens": len(given)}
            await exchange.event({"choices": [], "usage": usage})
        await exchange.event("[DONE]")
        await exchange.end()

    return behave


async def echo(exchange: Exchange) -> None:
    """The last message, word by word."""
    content = exchange.request.body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    words = text.split(" ")
    await answer(words[0], *(f" {word}" for word in words[1:]))(exchange)


def events(*sent: object, done: bool = True, **headers: str) -> Behaviour:
    """Just these events, whatever they are; bytes are sent as they are."""

    async def behave(exchange: Exchange) -> None:
        await exchange.begin(**headers)
        for each in sent:
            await (exchange.send(each) if isinstance(each, bytes) else exchange.event(each))
        if done:
            await exchange.event("[DONE]")
        await exchange.end()

    return behave


def refuse(status: int, content: object, **headers: str) -> Behaviour:
    return lambda exchange: exchange.reply(status, content, **headers)


def error(message: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def page() -> Behaviour:
    return refuse(200, b"<html><body>Welcome</body></html>", content_type="text/html")


async def hang(_: Exchange) -> None:
    """Nothing, until the client goes."""
    await asyncio.sleep(3600)


async def hang_amid(exchange: Exchange) -> None:
    await _some(exchange)
    await asyncio.sleep(3600)


async def cut(exchange: Exchange) -> None:
    """The connection breaks amid the answer."""
    await _some(exchange)
    exchange.cut()


async def fail_amid(exchange: Exchange) -> None:
    await _some(exchange)
    await exchange.event(error("the model fell over", type="server_error"))
    await exchange.end()


async def malformed(exchange: Exchange) -> None:
    await _some(exchange)
    await exchange.event('{"choices": [{"delta":')
    await exchange.event(piece(finish="stop"))
    await exchange.event("[DONE]")
    await exchange.end()


def not_knowing(parameter: str, message: str = "") -> Behaviour:
    """Refuses a parameter as long as it is sent."""

    async def behave(exchange: Exchange) -> None:
        if parameter not in exchange.request.body:
            await answer()(exchange)
            return
        said = message or f"Unsupported parameter: '{parameter}' is not supported with this model."
        await exchange.reply(400, error(said, type="invalid_request_error", param=parameter))

    return behave


async def _some(exchange: Exchange) -> None:
    await exchange.begin()
    for token in WORDS[:3]:
        await exchange.event(piece(token))


_NAMED: dict[str, Behaviour] = {
    "echo": echo,
    "slow": answer(pause=0.05),
    "hang": hang,
    "hang-amid": hang_amid,
    "cut": cut,
    "fail": refuse(500, error("out of order")),
    "fail-amid": fail_amid,
    "busy": refuse(429, error("too many"), retry_after="3600"),
    "malformed": malformed,
    "page": page(),
    "no-stream-options": not_knowing("stream_options"),
    "no-max-tokens": not_knowing("max_tokens"),
    "no-max-completion-tokens": not_knowing("max_completion_tokens"),
}


def named(model: str) -> Behaviour:
    if model.startswith("stream:"):
        _, tokens, pause = model.split(":")
        return answer(*[" word"] * int(tokens), pause=float(pause))
    return _NAMED.get(model, answer())


class ScriptedModel:
    """Runs in a thread with a loop of its own; a context. The counts settle a moment later."""

    def __init__(self) -> None:
        self.script: deque[Behaviour] = deque()
        self.requests: list[Request] = []
        self.listed: Behaviour = refuse(200, {"object": "list", "data": []})
        self.shown: Behaviour = refuse(404, error("model not found"))
        self.running: Behaviour = refuse(200, {"models": []})
        self.connections = self.open = self.started = self.finished = self.aborted = 0
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    @property
    def asked(self) -> list[Request]:
        """The requests for an answer."""
        return [each for each in self.requests if each.path.partition("?")[0].endswith("ions")]

    def stats(self) -> dict[str, int]:
        names = ("connections", "open", "started", "finished", "aborted")
        return {name: getattr(self, name) for name in names}

    def settled(self, condition: Callable[[], bool], patience: float = 10.0) -> bool:
        """Whether it soon holds."""
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stopped.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            ahead = b""
            while (request := await _read(reader, ahead)) is not None:
                gone, ahead = await self._exchange(request, reader, writer)
                if gone or writer.is_closing():
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _exchange(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[bool, bytes]:
        """Whether the client went before the end, and what it sent already of its next request."""
        self.requests.append(request)
        counts = request.path.partition("?")[0].endswith("/chat/completions")
        self.started += counts
        exchange = Exchange(request, writer)
        work = asyncio.ensure_future(self._behaviour(request, counts)(exchange))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            gone = leaving.done() and not leaving.result() and not work.done()
            if not gone:
                await work
            self.finished += counts and not gone
            self.aborted += counts and gone
            return gone, leaving.result() if leaving.done() else b""
        except OSError:
            self.aborted += counts
            return True, b""
        finally:
            for task in (work, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await task

    def _behaviour(self, request: Request, counts: bool) -> Behaviour:
        path = request.path.partition("?")[0]
        if path == "/stats":
            return refuse(200, self.stats())
        others = {"/models": self.listed, "/api/show": self.shown, "/api/ps": self.running}
        for end, behaviour in others.items():
            if path.endswith(end):
                return behaviour
        if not counts:
            return refuse(404, error("no such page"))
        return self.script.popleft() if self.script else named(request.body.get("model", ""))


async def _read(reader: asyncio.StreamReader, ahead: bytes) -> Request | None:
    try:
        head = ahead + await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode().strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int({name.lower(): value for name, value in headers.items()}.get("content-length", 0))
    body = await reader.readexactly(length)
    return Request(method, path, headers, json.loads(body) if body else None)


class OtherProcess(NamedTuple):
    url: str
    pid: int

    def stats(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.url}/stats", timeout=10) as reply:  # noqa: S310 our own
            return dict(json.load(reply))


@contextmanager
def own_process() -> Iterator[OtherProcess]:
    """The same beside us, so that it does not share our processor time."""
    command = [sys.executable, __file__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield OtherProcess(process.stdout.readline().strip(), process.pid)
        finally:
            process.kill()


if __name__ == "__main__":
    with ScriptedModel() as model:
        print(model.url, flush=True)  # noqa: T201 -- how it says where it is
        sys.stdin.read()
