"""How a server behaves; what it serves is the engine's."""

import re
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from unchunk.domain import OwnerId
from unchunk.errors import InvalidSettingError
from unchunk.server.addresses import is_address, is_loopback

# Without scheme and port.
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Options:
    """`host` is what it listens on; `hosts` and `origins` are taken beside this machine's own.

    With `behind_proxy`, who asks, and by which scheme, is what the proxy before it says. Keys are
    in force where others may reach it, or where they are required.

    `rate_limit` is how many requests a minute are taken of one owner, or of one address where
    nobody is known, `sign_in_limit` how many attempts to sign in; 0 is no limit. Of `max_uploads`
    at once for one owner, one more waits for `upload_patience` seconds. Whoever comes with a key
    has at most `max_sockets` open and `max_answers` being written; a socket is closed when nothing
    was asked over it for `socket_seconds`, and nothing is being answered. The head of a request
    must be there after `head_seconds`; its body may stop for `body_seconds`, and must bring
    `slowest_body` bytes a second from then on.

    With `sample`, a library that is new has something to try. With `work`, `job_width` documents
    come in at once, without it by other processes; and for one owner at most `max_jobs` wait for
    that. When the server ends, they have `job_grace` seconds more. Where what they need is away,
    the next try is after `job_patience`, then twice that and so on. What became of them is told for
    `kept_job_seconds`, of the last `kept_jobs`. Whoever waits for a file that another process takes
    in is told after `upload_seconds` that it waits: proxies give up a little later. Of pages, `max_drawn` may be asked for at once, by
    one owner `max_drawn_for_one`, and `kept_picture_bytes` are kept.

    A stream whose reader is gone goes on for `resume_seconds`; one that is over can be read again
    for `kept_seconds`, as long as such ones are at most `kept_streams` with `kept_bytes` together.
    A reader that takes nothing for `stall_seconds` is left. Sizes are bytes. What probes are told
    is at most `probe_seconds` old. Whoever shows `run_secret` is the owner, as commands on this
    machine do that are run beside the server.
    """

    owner: OwnerId = "local"
    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    require_keys: bool = False
    behind_proxy: bool = False
    session_seconds: float = 24 * 3600.0
    rate_limit: int = 1_200
    sign_in_limit: int = 20
    max_uploads: int = 8
    upload_patience: float = 20.0
    max_sockets: int = 50
    max_answers: int = 100
    socket_seconds: float = 600.0
    max_connections: int = 800
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    slowest_body: int = 1_000
    embedder: str = ""
    heartbeat_seconds: float = 15.0
    resume_seconds: float = 10.0
    stall_seconds: float = 60.0
    kept_seconds: float = 60.0
    kept_streams: int = 500
    kept_bytes: int = 50_000_000
    max_streams: int = 2_000
    max_stream_bytes: int = 8_000_000
    max_body: int = 4_000_000
    max_upload: int = 200_000_000
    upload_folder: Path | None = None
    sample: bool = False
    work: bool = True
    job_width: int = 8
    max_jobs: int = 10_000
    job_grace: float = 5.0
    job_patience: float = 5.0
    job_longest_patience: float = 300.0
    kept_jobs: int = 1_000
    kept_job_seconds: float = 3_600.0
    upload_seconds: float = 50.0
    max_drawn: int = 100
    max_drawn_for_one: int = 12
    kept_picture_bytes: int = 64_000_000
    probe_seconds: float = 2.0
    run_secret: str = field(default="", repr=False)
    version: str = field(default_factory=lambda: version("unchunk"))

    def __post_init__(self) -> None:
        if self.session_seconds < 1:
            raise InvalidSettingError("session_hours must be more than 0")
        for name in ("max_uploads", "max_connections"):
            if getattr(self, name) < 1:
                raise InvalidSettingError(f"{name} must be more than 0")
        for name in ("rate_limit", "sign_in_limit"):
            if getattr(self, name) < 0:
                raise InvalidSettingError(f"{name} must not be less than 0; 0 is no limit")
        for host in self.hosts:
            if not (is_address(host) or _NAME.fullmatch(host)):
                raise InvalidSettingError(
                    f"{host!r} in `hosts` is not a host name: write it as notes.example.org"
                )

    @property
    def keys_in_force(self) -> bool:
        open_to = (self.host, *self.hosts)
        return self.require_keys or self.behind_proxy or not all(map(is_loopback, open_to))
