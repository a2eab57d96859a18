"""What the processes that have one library open tell each other."""

from dataclasses import dataclass

from unchunk.ports import Bell, Leases, Purged, Queue, Rates, StreamLog


@dataclass(frozen=True, slots=True)
class Sharing:
    """Without `leases`, `streams` and `rates` no other process works on this library at the same
    time: what they would tell, this one knows by itself. Without `purged` nothing that was given
    up can come into the index later.
    """

    queue: Queue
    bell: Bell
    leases: Leases | None = None
    streams: StreamLog | None = None
    rates: Rates | None = None
    purged: Purged | None = None
