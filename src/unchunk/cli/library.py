"""Commands on a library of documents."""

import sys
from collections import Counter
from functools import partial
from pathlib import Path

import click

from unchunk.cli.progress import bars
from unchunk.cli.session import Session, with_session
from unchunk.cli.tables import counted, document_lines, table
from unchunk.domain import EmbedderIdentity
from unchunk.library.ingest import Outcome
from unchunk.retrieval.display import one_line


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--folder", default="", help="Put the documents into this folder.")
@with_session
def add(session: Session, paths: tuple[str, ...], folder: str) -> int:
    """Add files, folders or patterns such as 'notes/*.md'.

    What is there already is left as it is; a changed file replaces the old one when the new one
    is whole. A file that cannot be read is listed with its reason, and the others come in.
    """
    with bars(hidden=session.as_json) as progress:
        outcomes = session.library.add(
            *paths, folder=folder, report=progress.event, found=progress.found
        )
    return _tell(session, outcomes)


@click.command()
@click.argument("documents", nargs=-1)
@click.option("--queue", is_flag=True, help="Leave it to the workers, and do not wait for them.")
@with_session
def retry(session: Session, documents: tuple[str, ...], *, queue: bool) -> int:
    """Go on with documents that failed or were interrupted: all, or those named."""
    if queue:
        queued = session.library.enqueue(*documents)
        session.result({"queued": queued})
        session.say(f"queued for the workers: {counted(len(queued), 'document')}")
        return 0
    with bars(hidden=session.as_json) as progress:
        outcomes = session.library.retry(*documents, report=progress.event, found=progress.found)
    return _tell(session, outcomes)


def _tell(session: Session, outcomes: list[Outcome]) -> int:
    counts = session.library.counts()
    session.result({"files": outcomes, "counters": counts.counters, "seconds": counts.seconds})
    for one in outcomes:
        if one.result in ("failed", "waiting"):
            session.say(f"{one.result}: {one.name}: {one.error}")
        elif one.result == "linked":
            session.say(f"linked: {one.name} has the content of {one.same_as}")
    results = Counter(one.result for one in outcomes)
    chunks = sum(one.chunks for one in outcomes if one.result not in ("unchanged", "failed"))
    done = ", ".join(f"{count} {result}" for result, count in results.most_common())
    files = counted(len(outcomes), "file")
    session.say(f"{files}: {done or 'nothing to do'}; {counted(chunks, 'chunk')}")
    if results["waiting"]:
        session.say("Files that wait are kept: `unchunk retry` goes on with them.")
    return 1 if results["failed"] or results["waiting"] else 0


@click.command("ls")
@click.option("--folder", help="Only this folder.")
@with_session
def ls(session: Session, folder: str | None) -> None:
    """List the documents, those that failed with their reason."""
    documents = session.library.documents(folder)
    session.result({"documents": documents})
    for line in table(
        ("id", "status", "bytes", "pages", "chunks", "folder", "name", "error"),
        document_lines(documents),
    ):
        session.say(line)


@click.command()
@click.argument("document")
@with_session
def show(session: Session, document: str) -> None:
    """Tell all that is known of DOCUMENT: its name, its id, or the beginning of the id."""
    found = session.library.document(document)
    session.result(found)
    version = found.live or found.draft
    session.say(f"{found.name}  ({found.status})")
    session.say(f"  id        {found.id}")
    session.say(f"  folder    {found.folder or '-'}")
    session.say(
        f"  added     {found.created_at:%Y-%m-%d %H:%M}, changed {found.updated_at:%Y-%m-%d %H:%M}"
    )
    if version is not None:
        session.say(
            f"  content   {version.media_type or '?'}, {version.size:,} bytes, {version.page_count} pages"
        )
        session.say(f"  bytes     sha256 {version.checksum}")
    if found.live is not None:
        session.say(
            f"  text      {found.live.text_length:,} characters, sha256 {found.live.text_checksum}"
        )
        session.say(
            f"  chunks    {found.live.chunk_count}, {found.live.chunking}, generation {found.live.generation}"
        )
        for note in found.live.notes:
            session.say(f"  note      {note}")
    if found.error:
        session.say(f"  failed    {found.error_code}: {found.error}")


@click.command()
@click.argument("document")
@with_session
def text(session: Session, document: str) -> None:
    """Print the canonical text of DOCUMENT, byte for byte."""
    content = session.library.text(document)
    if session.as_json:
        session.result({"text": content})
    else:
        # Not through the text layer: it would change line ends and add one.
        sys.stdout.buffer.write(content.encode())
        sys.stdout.buffer.flush()


@click.command("rm")
@click.argument("documents", nargs=-1, required=True)
@with_session
def rm(session: Session, documents: tuple[str, ...]) -> int:
    """Delete DOCUMENTS from everywhere, with a receipt of what is left: nothing."""
    # All are looked up before any is deleted: a mistyped name then deletes nothing.
    ids = [session.library.document(document).id for document in documents]
    receipts = [session.library.delete(identity) for identity in dict.fromkeys(ids)]
    session.result({"receipts": receipts})
    for one in receipts:
        session.say(
            f"deleted {one.name}: {one.vectors} vectors, {one.blobs} originals, {one.cached}"
            f" cached vectors, {one.catalog} catalog entries left"
        )
        if one.problem:
            session.say(f"  not all is gone yet ({one.problem}): `unchunk doctor --fix` goes on")
    return 0 if all(one.clean for one in receipts) else 1


@click.command()
@click.argument("documents", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="The whole library; migrates it.")
@with_session
def reindex(session: Session, documents: tuple[str, ...], *, everything: bool) -> None:
    """Write documents anew from their stored texts.

    After a change of embedder or chunk size, --all brings the library to the new settings,
    beside what is there; searches go on meanwhile, and an interrupted one goes on.
    """
    if everything == bool(documents):
        raise click.UsageError("name documents, or say --all")
    with bars(hidden=session.as_json) as progress:
        step = partial(progress.step, "Embedded")
        library = session.library
        done = (
            library.migrate(report=step) if everything else library.reindex(*documents, report=step)
        )
    session.result(done)
    session.say(f"rewritten: {counted(done.documents, 'document')}")


@click.command()
@click.option("--fix", is_flag=True, help="Mend what can be.")
@with_session
def doctor(session: Session, *, fix: bool) -> int:
    """Prove that texts, originals and index agree."""
    with bars(hidden=session.as_json) as progress:
        found = session.library.doctor(fix=fix, watch=partial(progress.step, "Examined", ""))
    session.result(found)
    for one in found.findings:
        what = f"{one.document}: " if one.document else ""
        session.say(f"{'fixed' if one.fixed else one.kind}: {what}{one.message}")
    if found.embedder is not None:
        session.say(_embedder_line(found.embedder, found.uncalibrated))
    session.say(
        f"{counted(found.documents, 'document')}, {counted(found.chunks, 'chunk')}:"
        f" {'healthy' if found.healthy else 'not healthy; try `unchunk doctor --fix`'}"
    )
    return 0 if found.healthy else 1


def _embedder_line(embedder: EmbedderIdentity, problem: str) -> str:
    if embedder.min_score:
        score = f"{embedder.min_score:.3f}"
        return f"embedder {embedder.name}: a similarity of {score} or more counts as a match"
    why = one_line(problem) or "not used yet"
    return f"embedder {embedder.name}: not calibrated yet, so only passages with the question's words count as matches ({why})"


@click.command("export")
@click.argument("archive", type=click.Path(path_type=Path))
@with_session
def export(session: Session, archive: Path) -> int:
    """Write the whole library to one ARCHIVE.

    A document whose text is damaged is left out and named, and the exit status is 1.
    """
    with bars(hidden=session.as_json) as progress:
        done = session.library.export(archive, watch=partial(progress.step, "Exported"))
    session.result(done)
    session.say(f"{counted(done.documents, 'document')} -> {archive}")
    for name in done.lost:
        session.say(f"the original of {name} is gone or damaged; its text was exported")
    for name in done.damaged:
        session.say(
            f"{name} was left out: its text is damaged; `unchunk doctor --fix` reads it again"
            " from its original"
        )
    return 1 if done.damaged else 0


@click.command("import")
@click.argument("archive", type=click.Path(path_type=Path))
@with_session
def restore(session: Session, archive: Path) -> None:
    """Bring an ARCHIVE in; it is verified before anything is changed."""
    with bars(hidden=session.as_json) as progress:
        done = session.library.restore(archive, watch=partial(progress.step, "Imported"))
    session.result(done)
    session.say(f"imported: {counted(done.documents, 'document')}; {done.unchanged} already there")
