"""How a server behaves; what it serves is the engine's."""

from dataclasses import dataclass
from pathlib import Path

from unchunk.domain import OwnerId


@dataclass(frozen=True, slots=True)
class Options:
    """`hosts` and `origins` are taken beside those of this machine itself.

    A stream whose reader is gone goes on for `resume_seconds`; one that is over can be read again
    for `kept_seconds`, as long as such ones are at most `kept_streams` with `kept_bytes` together.
    A reader that takes nothing for `stall_seconds` is left. Sizes are bytes.
    """

    owner: OwnerId = "local"
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
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
