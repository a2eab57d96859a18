"""The group that all commands hang on."""

from pathlib import Path

import click

from unchunk import __version__
from unchunk.cli.ask import ask, chat
from unchunk.cli.conversations import conversations, prompt
from unchunk.cli.evaluate import evaluate
from unchunk.cli.keys import keys
from unchunk.cli.library import COMMANDS
from unchunk.cli.mcp import mcp
from unchunk.cli.migrate import migrate
from unchunk.cli.models import models
from unchunk.cli.recover import recover
from unchunk.cli.search import search
from unchunk.cli.serve import serve
from unchunk.cli.stitch import stitch
from unchunk.cli.worker import worker
from unchunk.telemetry import show_logs


@click.group()
@click.version_option(__version__, prog_name="unchunk")
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="UNCHUNK_HOME",
    help="Folder of the library. Default: ~/.unchunk",
)
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, with the job it is part of.")
@click.pass_context
def main(context: click.Context, home: Path | None, *, verbose: bool) -> None:
    """Ask your documents; and get them back out of any chunk store."""
    context.obj = home
    if verbose:
        show_logs()


for command in (
    *COMMANDS,
    search,
    ask,
    chat,
    conversations,
    prompt,
    serve,
    worker,
    keys,
    mcp,
    evaluate,
    migrate,
    models,
    recover,
    stitch,
):
    main.add_command(command)
