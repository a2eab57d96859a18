"""The command that moves a library."""

import asyncio
from functools import partial
from pathlib import Path

import click

from unchunk.cli.progress import bars
from unchunk.cli.session import Session, plain, with_session
from unchunk.cli.tables import counted
from unchunk.retrieval.display import one_line
from unchunk.wiring.moving import move_library, needed_settings, target_of


@click.command()
@click.option(
    "--to",
    "target",
    required=True,
    help="URL of a PostgreSQL database, or a folder. Leave a password out of it: PGPASSWORD or"
    " ~/.pgpass can give it.",
)
@click.option("--set", "changes", multiple=True, help="A setting of the target: index=qdrant:URL")
@click.option(
    "--settings",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the settings of the target, like unchunk.toml; the place for its secrets.",
)
@with_session
def migrate(session: Session, target: str, changes: tuple[str, ...], file: Path | None) -> int:
    """Move a copy of the whole library to another place, compared document by document.

    Nothing is embedded again, and nothing is changed here. An interrupted one goes on when it is
    called again; what changed here meanwhile is brought up to date there. What was changed or
    deleted there is left so, and named. The exit status is 1 if anything is not there as it is
    here, for this reason or another.
    """
    pairs = [one.partition("=") for one in changes]
    if any(not equals for _, equals, _ in pairs):
        raise click.UsageError("--set takes NAME=VALUE, as in --set index=qdrant:URL")
    settings = target_of(
        session.settings, target, {name.strip(): value for name, _, value in pairs}, file
    )
    with bars(hidden=session.as_json) as progress:
        done = asyncio.run(
            move_library(session.settings, settings, partial(progress.step, "Moved"))
        )
    needed = needed_settings(settings)
    session.result({**plain(done), "settings": needed})
    for one in (*done.differs, *done.left):
        session.say(f"{one.kind} {one_line(one.name)}: {one.why}")
    others = ", ".join(counted(count, kind) for kind, count in done.others.items())
    session.say(
        f"{counted(done.documents, 'document')}: {done.moved} moved, {done.unchanged} were there,"
        f" {done.removed} removed, {len(done.left)} left as they are there; {done.bytes:,} bytes of"
        f" originals{'; ' if others else ''}{others}"
    )
    session.say(
        f"{done.verified} of {counted(done.documents, 'document')} verified:"
        f" {done.source} -> {done.target}"
    )
    if needed and settings.catalog:
        said = ", ".join(f"{name} = {value}" for name, value in needed.items())
        session.say(f"Whoever opens it there needs these settings: {said}")
    return 0 if done.is_whole else 1
