"""What a route works with: the open engine, the streams, and whose documents it is about."""

from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from unchunk.domain import OwnerId
from unchunk.engine import Engine
from unchunk.server.counting import TokenCounter
from unchunk.server.options import Options
from unchunk.server.streams import Streams
from unchunk.server.tracing import request_id


@dataclass(frozen=True, slots=True)
class House:
    """What one running server has."""

    engine: Engine
    streams: Streams
    options: Options
    tokens: TokenCounter = field(default_factory=TokenCounter)


def house_of(connection: HTTPConnection) -> House:
    return cast("House", connection.app.state.house)


def owner_of(connection: HTTPConnection) -> OwnerId:
    """Whose documents a request is about. There is one local user, who needs no key."""
    return house_of(connection).options.owner


InHouse = Annotated[House, Depends(house_of)]
Owner = Annotated[OwnerId, Depends(owner_of)]
RequestId = Annotated[str, Depends(request_id)]
