"""The port `KeptResponses`, in the database of the catalog."""

from datetime import datetime
from functools import partial

from sqlalchemy import Connection, delete, select

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import insert
from unchunk.adapters.catalog.rows import (
    damaged,
    is_storable,
    json_of,
    kept_json,
    microseconds_of,
    storable,
    time_of,
)
from unchunk.adapters.catalog.schema import responses
from unchunk.domain import OwnerId, json_object
from unchunk.errors import NotFoundError
from unchunk.ports import KeptResponse, ResponseId


class SqlKeptResponses:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, response: KeptResponse) -> None:
        await self._database.write(partial(_keep, response=response))

    async def get(self, owner: OwnerId, response: ResponseId) -> KeptResponse:
        return await self._database.read(partial(_get, owner=owner, response=response))

    async def delete(self, owner: OwnerId, response: ResponseId) -> None:
        await self._database.write(partial(_delete, owner=owner, response=response))

    async def forget(self, before: datetime) -> int:
        return await self._database.write(partial(_forget, before=before))


def _keep(connection: Connection, response: KeptResponse) -> None:
    storable(id=response.id, owner=response.owner)
    said = {
        "created_at": microseconds_of(response.created_at),
        "body": kept_json(json_object(response.body, "a response"), "a response"),
    }
    connection.execute(
        insert(connection.dialect.name, responses).on_conflict_do_update(
            index_elements=["owner", "id"], set_=said
        ),
        {"owner": response.owner, "id": response.id, **said},
    )


def _get(connection: Connection, owner: OwnerId, response: ResponseId) -> KeptResponse:
    wanted = select(responses).where(responses.c.owner == owner, responses.c.id == response)
    can_be = is_storable(owner) and is_storable(response)
    row = connection.execute(wanted).first() if can_be else None
    if row is None:
        raise _nothing_there(response)
    try:
        body = dict(json_of(row.body))
    except (TypeError, ValueError) as error:
        raise damaged(f"response {response!r}") from error
    return KeptResponse(row.id, row.owner, time_of(row.created_at), body)


def _delete(connection: Connection, owner: OwnerId, response: ResponseId) -> None:
    is_it = (responses.c.owner == owner, responses.c.id == response)
    can_be = is_storable(owner) and is_storable(response)
    if not can_be or not connection.execute(delete(responses).where(*is_it)).rowcount:
        raise _nothing_there(response)


def _forget(connection: Connection, before: datetime) -> int:
    is_older = responses.c.created_at < microseconds_of(before)
    return connection.execute(delete(responses).where(is_older)).rowcount


def _nothing_there(response: ResponseId) -> NotFoundError:
    return NotFoundError(f"there is no response {response!r}")
