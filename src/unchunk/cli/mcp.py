"""The command that agents' programs start: the library's tools over standard input and output."""

import asyncio
import logging
from pathlib import Path

import click

from unchunk import __version__
from unchunk.beside.running import Running, find
from unchunk.cli.session import Session
from unchunk.errors import UnchunkError
from unchunk.settings import Settings
from unchunk.wiring import open_engine


@click.command()
@click.pass_obj
def mcp(home: Path | None) -> None:
    """Tools for agents: search, read, list and ask, by the Model Context Protocol.

    For programs to start, not for people: it speaks over standard input and output, and ends with
    its input. Where `unchunk serve` has the library, that one does the work; otherwise the library
    is open only while it is used. docs/agents.md tells how to set it up.
    """
    session = Session(home, as_json=False)
    try:
        # Programs that start tools keep what those complain of.
        session.show_logs(logging.INFO if session.is_verbose else logging.WARNING)
        asyncio.run(_serve(session.settings))
    except UnchunkError as error:
        raise click.ClickException(str(error)) from None


async def _serve(settings: Settings) -> None:
    # The protocol takes longer to load than all the rest, and no other command needs it.
    from unchunk.mcp.lending import Lending  # noqa: PLC0415
    from unchunk.mcp.stdio import serve  # noqa: PLC0415

    def beside() -> Running | None:
        running = find(settings.home)
        if running is not None:
            running.check(settings.owner, __version__)
        return running

    library = Lending(lambda: open_engine(settings))
    await serve(__version__, library, beside, settings.answer_source)
