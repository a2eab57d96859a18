"""The group that all commands hang on."""

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from unchunk import __version__
from unchunk.cli.environment import load_env_file

# The room of each command: who asks for one does not wait for the others to be loaded.
_ROOMS = {
    "ask": "ask chat",
    "conversations": "conversations prompt",
    "evaluate": "eval",
    "keys": "keys",
    "library": "add doctor export import ls reindex retry rm show text",
    "mcp": "mcp",
    "migrate": "migrate",
    "models": "models",
    "recover": "recover",
    "search": "search",
    "serve": "serve",
    "stitch": "stitch",
    "worker": "worker",
}
# Python has the names of these for itself.
_FUNCTIONS = {"eval": "evaluate", "import": "restore"}


class _Commands(click.Group):
    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 -- as click passes them
    ) -> click.Context:
        # Before the options are read: some of them have their values from variables.
        load_env_file()
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- as click calls it
        return sorted(name for names in _ROOMS.values() for name in names.split())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        for room, names in _ROOMS.items():
            if cmd_name in names.split():
                function = _FUNCTIONS.get(cmd_name, cmd_name)
                command: click.Command = getattr(import_module(f"unchunk.cli.{room}"), function)
                return command
        return None


@click.group(cls=_Commands)
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
        from unchunk.telemetry import show_logs  # noqa: PLC0415 -- most commands show none

        show_logs()
