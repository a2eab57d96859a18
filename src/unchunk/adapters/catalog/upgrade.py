"""Brings the tables of a database up to date, with Alembic. Loaded only where there is need."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def known_revisions() -> set[str]:
    return {script.revision for script in _scripts().walk_revisions()}


def newest_revision() -> str | None:
    return _scripts().get_current_head()


def upgrade(connection: Connection) -> None:
    """Every missing step, in the transaction that the caller has begun."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    # Alembic takes a percent sign for the beginning of a variable.
    folder = str(Path(__file__).parent / "migrations").replace("%", "%%")
    config.set_main_option("script_location", folder)
    return config
