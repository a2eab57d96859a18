"""Other people's chunks back into files."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import BinaryIO, get_args

import click

from unchunk.cli.tables import counted
from unchunk.domain import ChunkingStrategy, Unit
from unchunk.errors import UnchunkError
from unchunk.recovery.jsonl import FileChunks, read_chunks
from unchunk.recovery.output import REPORT, safe_names, write_whole
from unchunk.recovery.report import FileReport, report
from unchunk.text.stitching import stitch_files


@click.command()
@click.argument("chunks", type=click.File("rb"))
@click.option("-o", "--output", type=click.Path(path_type=Path), default=Path("output"),
              show_default=True, help="Folder to write the files to.")  # fmt: skip
@click.option("--suffix", default=".reconstructed.md", show_default=True,
              help="Put behind each file's name.")  # fmt: skip
@click.option("--size", type=int, help="Units per chunk, if known, such as 800.")
@click.option("--overlap", type=int, help="Units that two chunks share, if known, such as 400.")
@click.option("--unit", type=click.Choice(get_args(Unit)), default="tokens", show_default=True,
              help="What --size and --overlap count.")  # fmt: skip
def stitch(
    *,
    chunks: BinaryIO,
    output: Path,
    suffix: str,
    size: int | None,
    overlap: int | None,
    unit: Unit,
) -> None:
    """Put overlapping chunks together again.

    CHUNKS is a file of lines like {"file": "a.md", "text": "..."}, the chunks of each file in
    their order, or with an "index" each ("-" reads standard input). Each file is written whole, with report.json
    beside them: every joint, and how sure it is. How the chunks were cut is found out, unless
    --size and --overlap tell it.
    """
    try:
        strategy = known_strategy(unit, size, overlap)
        files = read_chunks(chunks, getattr(chunks, "name", "<stdin>"))
        reports = _recover(files, strategy, output, suffix)
    except UnchunkError as error:
        raise click.ClickException(str(error)) from None
    _summarise(reports, output)


def known_strategy(unit: Unit, size: int | None, overlap: int | None) -> ChunkingStrategy | None:
    """The strategy that options tell, if they do."""
    if size is None and overlap is None:
        return None
    if size is None or overlap is None:
        raise click.UsageError("--size and --overlap go together")
    return ChunkingStrategy(unit, size, overlap)


def _recover(
    files: dict[str, FileChunks], strategy: ChunkingStrategy | None, output: Path, suffix: str
) -> list[FileReport]:
    hidden = not sys.stderr.isatty()
    with click.progressbar(
        length=len(files), label="Joining", file=sys.stderr, hidden=hidden
    ) as bar:
        stitched = stitch_files(
            {name: chunks.texts for name, chunks in files.items()},
            strategy,
            from_start={name: chunks.from_start for name, chunks in files.items()},
            progress=lambda _name: bar.update(1),
        )
    reports = []
    for name, file_name in safe_names(stitched, suffix):
        path = output / file_name
        written = write_whole(path, stitched[name].text)
        reports.append(report(name, str(path), written, stitched[name]))
        click.echo(_line(reports[-1]))
    write_whole(output / REPORT, json.dumps({"files": reports}, indent=1) + "\n")
    return reports


def _line(done: FileReport) -> str:
    name = click.style(done["file"].encode("utf-8", "replace").decode(), bold=True)
    found = f" [{done['strategy']}]" if done["strategy"] else ""
    notes = "".join(f"\n    {note}" for note in done["notes"])
    return (
        f"{name}: {counted(done['chunks'], 'chunk')} -> {done['bytes']:,} bytes,"
        f" {done['confidence']}{found} -> {done['output']}{notes}"
    )


def _summarise(reports: list[FileReport], output: Path) -> None:
    sure = Counter(done["confidence"] for done in reports)
    counts = ", ".join(f"{count} {confidence}" for confidence, count in sure.most_common())
    total = sum(done["bytes"] for done in reports)
    files = counted(len(reports), "file")
    click.echo(f"{files} ({counts}), {total:,} bytes; report: {output / REPORT}")
