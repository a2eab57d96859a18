"""A server in this process, until a signal ends it."""

import ipaddress
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from unchunk.errors import InvalidSettingError
from unchunk.telemetry import log

_GRACE = 10.0
_LONGEST_MESSAGE = 4_000_000


def serve(
    app: FastAPI,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    ready: Callable[[str], None] = lambda _: None,
    grace: float = _GRACE,
) -> None:
    """Answer requests until SIGINT or SIGTERM; `ready` is told the address. 0 is a free port.

    Answers that are being written end with a word to their readers, all else has `grace` seconds.
    Raises what kept the engine from being opened, and `InvalidSettingError` for an address that
    cannot be had.
    """
    with listening(host, port) as (listener, address):
        server = make_server(app, grace, lambda: ready(address))
        with forwarded_logs():
            try:
                server.run([listener])
            except SystemExit:
                # How it says that the application did not start.
                if app.state.failure is None:
                    raise
        if app.state.failure is not None:
            raise app.state.failure


@contextmanager
def listening(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """A socket that is bound, and its address as a URL."""
    if not _is_loopback(host):
        raise InvalidSettingError(
            f"{host!r} can be reached from elsewhere, and there are no keys yet that tell users"
            " apart: use 127.0.0.1"
        )
    if not 0 <= port <= 65_535:
        raise InvalidSettingError(f"there is no port {port}: choose another")
    is_six = ":" in host
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if is_six else socket.AF_INET
        )
    except OSError as error:
        raise InvalidSettingError(
            f"port {port} of {host} cannot be used: {error.strerror}: choose another"
        ) from error
    with listener:
        bound = listener.getsockname()[1]
        yield listener, f"http://{f'[{host}]' if is_six else host}:{bound}"


def make_server(
    app: FastAPI, grace: float = _GRACE, ready: Callable[[], None] = lambda: None
) -> uvicorn.Server:
    """A server that ends its streams before it waits for connections to close."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        ws="websockets-sansio",
        ws_max_size=_LONGEST_MESSAGE,
        # Each open socket would hold a compressor.
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nobody in front of it says who the client is.
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    return _Server(config, app, ready)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._app.state.house.streams.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike the original, the signal is not raised again: what it asked for has happened."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self.handle_exit) for one in signals}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


class _Forwarding(logging.Handler):
    """A start that failed is told by whoever started it."""

    def emit(self, record: logging.LogRecord) -> None:
        if "pplication startup" not in record.getMessage():
            log("%s", record.getMessage().strip(), level=record.levelno)


@contextmanager
def forwarded_logs() -> Iterator[None]:
    """What uvicorn has to say goes to our log."""
    logger = logging.getLogger("uvicorn.error")
    handler = _Forwarding(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
