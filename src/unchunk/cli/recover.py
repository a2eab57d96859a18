"""Files back out of stores of chunks, and straight into the library if that is wanted."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

import click

from unchunk.cli.lost_stores import Chosen, with_stores
from unchunk.cli.progress import bars
from unchunk.cli.session import Session, with_session
from unchunk.cli.stitch import known_strategy
from unchunk.cli.taking_in import take_in
from unchunk.domain import Unit
from unchunk.library.ingest import Outcome
from unchunk.ports import LostFiles
from unchunk.recovery import console
from unchunk.recovery.fetching import Progress
from unchunk.recovery.request import Calibrate, Recovered, Rescue
from unchunk.recovery.rescue import recover as recover_from

Say = Callable[[str], None]


@click.command()
@with_session
@with_stores
@click.option("--only", multiple=True, metavar="NAME",
              help="Only this file, by name or id; may be given several times.")  # fmt: skip
@click.option("-o", "--output", default="./output", show_default=True,
              help="Folder to write the files to.")  # fmt: skip
@click.option("--suffix", default=".reconstructed.md", show_default=True,
              help="Put behind each file's name.")  # fmt: skip
@click.option("--size", type=int, help="Units per chunk, where the store does not tell.")
@click.option("--overlap", type=int, help="Units that two chunks share, where it does not tell.")
@click.option("--unit", type=click.Choice(get_args(Unit)), default="tokens", show_default=True,
              help="What --size and --overlap count.")  # fmt: skip
@click.option("--calibrate", type=click.Choice(get_args(Calibrate)), default="each-joint",
              show_default=True, help="Measure each joint, or one overlap for all.")  # fmt: skip
@click.option("--verify", is_flag=True, help="Read each file back, cut it again and compare.")
@click.option("--add", is_flag=True, help="Put the files into the library, too.")
@click.option("--folder", default="", help="Folder of the library that --add puts them into.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=8, show_default=True,
              help="Files that are fetched at once.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
def recover(
    chosen: Chosen,
    session: Session,
    *,
    only: tuple[str, ...],
    output: str,
    suffix: str,
    size: int | None,
    overlap: int | None,
    unit: Unit,
    calibrate: Calibrate,
    verify: bool,
    add: bool,
    folder: str,
    concurrency: int,
    quiet: bool,
) -> int:
    """Get files back out of stores that hold nothing but their chunks.

    Each file is put together from its chunks and written whole, with recovery.json beside them:
    every joint, and how sure it is. OpenAI is reached by OPENAI_API_KEY; Azure by
    AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY and OPENAI_API_VERSION. After an interruption the
    same command goes on. The exit status is 1 if a file did not come back, if --verify found a
    difference, or if --add could not add one.
    """
    request = Rescue(
        output, suffix, only, known_strategy(unit, size, overlap), calibrate, verify, concurrency
    )
    hidden = quiet or session.as_json
    stores = chosen.open(session.settings, os.environ)
    say = _teller(hidden=hidden)
    outcomes: list[Outcome] = []
    with bars(hidden=hidden) as progress:
        done = asyncio.run(_recovered(stores, request, say, progress.step))
        for line in console.verdicts(done):
            say(line)
        if add:
            outcomes = take_in(session.library, done.results, folder, progress.step)
    for line in _added(outcomes):
        say(line)
    session.result({"recovered": done, "added": outcomes})
    fine = all(one.result not in ("failed", "waiting") for one in outcomes)
    return 0 if done.is_whole and fine else 1


async def _recovered(
    stores: Sequence[LostFiles], request: Rescue, say: Say, progress: Progress
) -> Recovered:
    try:
        return await recover_from(stores, request, say=say, progress=progress)
    finally:
        for store in stores:
            await store.close()


def _teller(*, hidden: bool) -> Say:
    """Lines on standard output; above the bars, if it is the same screen."""
    # While bars are shown, what goes to a screen is led around them; a file has no bars in it.
    straight = None if sys.stdout.isatty() else sys.stdout
    encoding = sys.stdout.encoding or "utf-8"

    def say(line: str) -> None:
        if not hidden:
            click.echo(line.encode(encoding, "replace").decode(encoding), file=straight)

    return say


def _added(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        f"  {one.result}: {console.shown(one.name)}: {console.shown(one.error)}"
        for one in outcomes
        if one.result in ("failed", "waiting")
    ]
    if outcomes:
        counted = Counter(one.result for one in outcomes).most_common()
        lines.append("  Library: " + ", ".join(f"{count} {result}" for result, count in counted))
    return lines
