"""A server in this process, until a signal ends it."""

import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from unchunk.errors import InvalidSettingError
from unchunk.server.connections import Connection
from unchunk.telemetry import log

USUAL = 8000
_GRACE = 10.0
_LONGEST_MESSAGE = 4_000_000
# The second is what it says of each socket that is refused.
_NOISE = ("pplication startup", "without completing handshake")


def serve(
    app: FastAPI,
    *,
    port: int | None = None,
    bound: Callable[[str], None] = lambda _: None,
    ready: Callable[[str], None] = lambda _: None,
    grace: float = _GRACE,
) -> None:
    """Answer requests until SIGINT or SIGTERM; `ready` is told the address.

    `bound` is called with the address before anything is opened; it may raise to refuse it.

    The port is that, 0 a free one, and without one the usual one or, if that is taken, a free one.
    Answers that are being written end with a word to their readers, all else has `grace` seconds.
    Raises what kept the engine from being opened, and `InvalidSettingError` for an address that
    cannot be had.
    """
    with listening(app.state.options.host, port) as (listener, address):
        bound(address)
        server = make_server(app, grace, lambda: ready(address))
        with forwarded_logs(app):
            try:
                server.run([listener])
            except SystemExit:
                # How it says that the application did not start.
                if app.state.failure is None:
                    raise
        if app.state.failure is not None:
            raise app.state.failure


@contextmanager
def listening(host: str, port: int | None) -> Iterator[tuple[socket.socket, str]]:
    """A socket that is bound, and its address as a URL. Whoever may come in is asked later."""
    if not host:
        raise InvalidSettingError("there is no address to listen on: 127.0.0.1 is this machine's")
    if port is not None and not 0 <= port <= 65_535:
        raise InvalidSettingError(f"there is no port {port}: choose another")
    is_six = ":" in host
    with _bound(host, port, socket.AF_INET6 if is_six else socket.AF_INET) as listener:
        # Else the body of each reply waits until its head is acknowledged, which takes 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bound = listener.getsockname()[1]
        yield listener, f"http://{f'[{host}]' if is_six else host}:{bound}"


def _bound(host: str, port: int | None, family: socket.AddressFamily) -> socket.socket:
    try:
        return socket.create_server((host, USUAL if port is None else port), family=family)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return _bound(host, 0, family)
        raise InvalidSettingError(
            f"port {USUAL if port is None else port} of {host} cannot be used:"
            f" {error.strerror}: choose another"
        ) from error


def make_server(
    app: FastAPI, grace: float = _GRACE, ready: Callable[[], None] = lambda: None
) -> uvicorn.Server:
    """A server that ends its streams before it waits for connections to close."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=Connection,
        ws="websockets-sansio",
        ws_max_size=_LONGEST_MESSAGE,
        # Each open socket would hold a compressor.
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Whether somebody in front of it says who the client is, `proxies` knows.
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
        house = self._app.state.house
        house.jobs.stop()
        await house.streams.close()
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

    def __init__(self, app: FastAPI | None) -> None:
        super().__init__(logging.WARNING)
        self._app = app

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        is_failing = self._app is not None and self._app.state.failure is not None
        if not is_failing and not any(part in said for part in _NOISE):
            log("%s", said.strip(), level=record.levelno)


@contextmanager
def forwarded_logs(app: FastAPI | None = None) -> Iterator[None]:
    """What uvicorn has to say goes to our log."""
    logger = logging.getLogger("uvicorn.error")
    handler = _Forwarding(app)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
