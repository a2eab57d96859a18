"""The group that all commands hang on."""

from pathlib import Path

import click

from unchunk import __version__
from unchunk.cli.library import COMMANDS
from unchunk.cli.models import models
from unchunk.cli.stitch import stitch


@click.group()
@click.version_option(__version__, prog_name="unchunk")
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    envvar="UNCHUNK_HOME",
    help="Folder of the library. Default: ~/.unchunk",
)
@click.pass_context
def main(context: click.Context, home: Path | None) -> None:
    """Ask your documents; and get them back out of any chunk store."""
    context.obj = home


for command in (*COMMANDS, models, stitch):
    main.add_command(command)
