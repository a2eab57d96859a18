"""The port `Prompts`, in the database of the catalog."""

from functools import partial
from hashlib import sha256

from sqlalchemy import Connection, delete, select

from unchunk.adapters.catalog.database import Database
from unchunk.adapters.catalog.dialects import insert
from unchunk.adapters.catalog.rows import is_storable, kept_text, storable, text_of
from unchunk.adapters.catalog.schema import prompts
from unchunk.domain import OwnerId


class SqlPrompts:
    """Lives as long as the catalog on the same database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prompt(self, owner: OwnerId, folder: str) -> str:
        return await self._database.read(partial(_prompt, owner=owner, folder=folder))

    async def prompts(self, owner: OwnerId) -> dict[str, str]:
        return await self._database.read(partial(_prompts, owner=owner))

    async def set_prompt(self, owner: OwnerId, folder: str, text: str) -> None:
        await self._database.write(partial(_set, owner=owner, folder=folder, text=text))


def _prompt(connection: Connection, owner: OwnerId, folder: str) -> str:
    if not is_storable(owner):
        return ""
    wanted = select(prompts.c.prompt).where(
        prompts.c.owner == owner, prompts.c.mark == _mark(folder)
    )
    found = connection.scalar(wanted)
    return "" if found is None else text_of(found)


def _prompts(connection: Connection, owner: OwnerId) -> dict[str, str]:
    if not is_storable(owner):
        return {}
    wanted = select(prompts.c.folder, prompts.c.prompt).where(prompts.c.owner == owner)
    found = {text_of(folder): text_of(prompt) for folder, prompt in connection.execute(wanted)}
    return dict(sorted(found.items()))


def _set(connection: Connection, owner: OwnerId, folder: str, text: str) -> None:
    storable(owner=owner)
    if not text:
        connection.execute(
            delete(prompts).where(prompts.c.owner == owner, prompts.c.mark == _mark(folder))
        )
        return
    made = {
        "owner": owner,
        "mark": _mark(folder),
        "folder": kept_text(folder, "a folder"),
        "prompt": kept_text(text, "a prompt"),
    }
    connection.execute(
        insert(connection.dialect.name, prompts).on_conflict_do_update(
            index_elements=["owner", "mark"], set_={"prompt": made["prompt"]}
        ),
        made,
    )


def _mark(folder: str) -> bytes:
    return sha256(kept_text(folder, "a folder")).digest()
