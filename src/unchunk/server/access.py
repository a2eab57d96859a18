"""What a route works with: the open engine, the streams, and whose documents it is about.

Who that is was found out before, at the `entrance`. A route that wants an `Owner` is reached by
nobody else, and no route takes an owner from its client.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from unchunk.domain import DocumentId, OwnerId
from unchunk.engine import Engine
from unchunk.server.checkup import Checkup
from unchunk.server.identity import Asker, key_needed
from unchunk.server.jobs import Jobs
from unchunk.server.limits import Limits
from unchunk.server.metrics import Metrics
from unchunk.server.options import Options
from unchunk.server.pictures import Pictures
from unchunk.server.sessions import Sessions
from unchunk.server.streams import Streams
from unchunk.server.tracing import request_id


@dataclass(frozen=True, slots=True)
class House:
    """What one running server has."""

    engine: Engine
    streams: Streams
    options: Options
    checkup: Checkup
    metrics: Metrics
    sessions: Sessions
    limits: Limits
    jobs: Jobs
    pictures: Pictures
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def forgetting(self, *documents: DocumentId) -> Iterator[None]:
        """While they are deleted; afterwards the server holds nothing of them."""
        try:
            yield
        finally:
            for one in documents:
                self.pictures.drop(one)

    def uptime(self) -> float:
        return time.monotonic() - self.began


def house_of(connection: HTTPConnection) -> House:
    return cast("House", connection.app.state.house)


def asker_of(connection: HTTPConnection) -> Asker | None:
    """None where nobody is known, which only the few routes that are open to all see."""
    return cast("Asker | None", connection.state.asker)


def owner_of(connection: HTTPConnection) -> OwnerId:
    """Whose documents a request is about."""
    asker = asker_of(connection)
    if asker is None:
        raise key_needed()
    return asker.owner


def limited_of(connection: HTTPConnection) -> OwnerId | None:
    """Whom limits are for; None for the user of this machine, who has none."""
    asker = asker_of(connection)
    return asker.limited if asker else None


InHouse = Annotated[House, Depends(house_of)]
Owner = Annotated[OwnerId, Depends(owner_of)]
AskerOrNobody = Annotated[Asker | None, Depends(asker_of)]
RequestId = Annotated[str, Depends(request_id)]
