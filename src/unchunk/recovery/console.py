"""What a rescue says while it goes on, line by line, in the form that its first users know."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from unchunk.recovery.request import Recovered, Result
from unchunk.text.stitching import ChunkOverlapInfo

_TITLE = "Retrieve and reconstruct files from vector store"
_LONGEST = 300
# Verdicts that a person has to know of at once.
_DOUBTFUL = ("ambiguous", "lossy", "none")
ONE_FOR_ALL = (
    "    Warning: one overlap for all joints gets next to no file of token windows back;"
    " leave out 'first-pair'"
)


def start(now: datetime) -> str:
    return f"[{now:%Y-%m-%d %H:%M:%S}] START: {_TITLE}..."


def end(now: datetime, seconds: float) -> str:
    return f"[{now:%Y-%m-%d %H:%M:%S}] END: {_TITLE} ({seconds:.0f} secs)."


def store(name: str) -> str:
    return f"  Vector store: {shown(name)}"


def overlap(found: ChunkOverlapInfo | None) -> Iterator[str]:
    yield "  Detecting overlap from first file..."
    if found is None:
        yield "    No file has more than one chunk: there is no overlap to detect"
    else:
        chars, sure = found.overlap_chars, found.confidence
        yield f"    Overlap detected: {chars} chars (confidence: {sure})"


def processing(count: int) -> str:
    return f"  Processing {count} files..."


def file(at: int, count: int, done: Result) -> Iterator[str]:
    head = f"    [ {at} / {count} ] {shown(done.name)}: "
    if done.path:
        yield (
            f"{head}{done.chunks} chunks -> {done.bytes:,} bytes -> {shown(done.path, _LONGEST * 2)}"
        )
        doubts = done.notes if done.verdict in _DOUBTFUL else ()
        if done.verdict in _DOUBTFUL:
            yield f"      Warning: {done.verdict}{''.join(f'; {shown(note)}' for note in doubts)}"
        if not done.is_same:
            yield f"      Warning: verify: {done.checked}"
    else:
        yield f"{head}{done.status}{''.join(f': {shown(note)}' for note in done.notes)}"


def problem(said: str) -> str:
    return f"  Warning: {shown(said)}"


def summary(results: Sequence[Result]) -> str:
    back = [one for one in results if one.path]
    chunks, size = sum(one.chunks for one in back), sum(one.bytes for one in back)
    return f"  Summary: {len(back)} files, {chunks} chunks, {size:,} bytes reconstructed"


def verdicts(done: Recovered) -> Iterator[str]:
    """How sure all of it is, and what did not come back; where the report is."""
    back = Counter(one.verdict for one in done.results if one.status == "recovered")
    counted = ", ".join(f"{count} {verdict}" for verdict, count in back.most_common())
    yield f"  Verdicts: {counted or 'none, since there were no chunks to join'}"
    lost = Counter(one.status for one in done.results)
    lost.pop("recovered", None)
    if empty := lost.pop("no chunks", 0):
        yield f"  Empty: {empty} of the files, because their store has no chunks of them"
    if lost:
        yield "  Not back: " + ", ".join(f"{count} {status}" for status, count in lost.items())
    checks = Counter(one.checked for one in done.results if one.checked)
    if checks:
        yield "  Verify: " + ", ".join(f"{count} {said}" for said, count in checks.most_common(10))
    yield f"  Report: {shown(done.report, _LONGEST * 2)}"


def shown(text: str, longest: int = _LONGEST) -> str:
    """On one line, without what could steer a terminal or cannot be written."""
    text = "".join(one if one.isprintable() else "\ufffd" for one in text[: longest + 1])
    return text if len(text) <= longest else f"{text[:longest]}…"
