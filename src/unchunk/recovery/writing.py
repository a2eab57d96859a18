"""Texts into files, and what is said of each."""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import isfinite

from unchunk.errors import InvalidTextError, OutputError
from unchunk.ports import FieldValue, LostChunks
from unchunk.recovery.checking import Check, check
from unchunk.recovery.joining import Fetched, joined, joined_literally
from unchunk.recovery.output import write_whole
from unchunk.recovery.report import RecoveredReport, ReportFile, StrategyReport, seams_of
from unchunk.recovery.request import Rescue, Result, Status, Wanted
from unchunk.recovery.spool import Spool
from unchunk.text.stitching import Stitched
from unchunk.text.stitching.seams import worst

# A folder under its name, a name that this disk does not take, a file that may not be replaced.
_OF_ONE = frozenset(
    {
        errno.EISDIR,
        errno.ENOTEMPTY,
        errno.EEXIST,
        errno.ENAMETOOLONG,
        errno.EILSEQ,
        errno.EINVAL,
        errno.EPERM,
        errno.EACCES,
    }
)


class Writer:
    """Where results go. `overlap` is the one for all joints, where that is wanted."""

    def __init__(
        self, request: Rescue, spool: Spool, report: ReportFile, overlap: int | None
    ) -> None:
        self._request, self._spool, self._report = request, spool, report
        self._overlap = overlap

    def write(self, group: Sequence[tuple[Wanted, LostChunks | str]]) -> list[Result]:
        """Each file of a group, in order: its text from its chunks, or why there are none."""
        fetched = [
            Fetched(one.file, chunks, one.file.strategy or self._request.strategy)
            for one, chunks in group
            if isinstance(chunks, LostChunks)
        ]
        texts = iter(self._joined(fetched))
        results = []
        for one, chunks in group:
            if isinstance(chunks, str):
                status: Status = "not fetched" if one.file.status == "ready" else one.file.status
                results.append(self._nothing(one, status, chunks))
            else:
                results.append(self._result(one, chunks, next(texts)))
        return results

    def _joined(self, files: Sequence[Fetched]) -> list[Stitched | InvalidTextError]:
        if self._overlap is None:
            return joined(files)
        overlap = self._overlap
        return [joined_literally(one, overlap) for one in files]

    def _result(
        self, one: Wanted, chunks: LostChunks, stitched: Stitched | InvalidTextError
    ) -> Result:
        if isinstance(stitched, InvalidTextError):
            return self._nothing(one, "not joined", str(stitched))
        data = stitched.text.encode("utf-8", "surrogatepass")
        path = self._request.folder / one.output
        try:
            write_whole(path, data, aside=self._spool.folder)
        except OutputError as error:
            if not _is_of_one(error):
                raise
            return self._nothing(one, "not written", str(error))
        done: Check | None = None
        if self._request.verify and chunks.texts:
            ordered = [chunks.texts[at] for at in stitched.order]
            done = check(path, ordered, stitched.strategy, missing=stitched.missing)
            if not done.is_same:
                stitched = replace(stitched, confidence=worst([stitched.confidence, "ambiguous"]))
        result = Result(
            one.store.name,
            one.file.id,
            one.file.name,
            one.plain,
            "recovered" if chunks.texts else "no chunks",
            self._request.place(one.output),
            len(chunks.texts),
            len(data),
            stitched.confidence,
            stitched.notes,
            _finite(one.file.attributes),
            done.said if done else "",
            is_same=done is None or done.is_same,
        )
        self._report.add(
            {
                **_reported(result),
                "characters": len(stitched.text),
                "sha256": sha256(data).hexdigest(),
                "strategy": self._strategy(one, stitched),
                "missing": stitched.missing,
                "order": list(stitched.order) if stitched.reordered else None,
                "seams": seams_of(stitched),
            }
        )
        return result

    def _strategy(self, one: Wanted, stitched: Stitched) -> StrategyReport | None:
        found = stitched.strategy
        if found is None:
            return None
        given = one.file.strategy or self._request.strategy
        origin = "given" if found == given else "inferred"
        return {"unit": found.unit, "size": found.size, "overlap": found.overlap, "origin": origin}

    def _nothing(self, one: Wanted, status: Status, problem: str) -> Result:
        notes = (problem,) if problem else ()
        result = Result(
            one.store.name,
            one.file.id,
            one.file.name,
            one.plain,
            status,
            notes=notes,
            attributes=_finite(one.file.attributes),
        )
        self._report.add(_reported(result))
        return result


def _is_of_one(error: OutputError) -> bool:
    """Whether it is about this file, and another may well be written."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _OF_ONE


def _finite(attributes: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    """Without numbers that no JSON holds."""
    return {name: value for name, value in attributes.items() if _is_finite(value)}


def _is_finite(value: FieldValue) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or isfinite(value)


def _reported(result: Result) -> RecoveredReport:
    return {
        "store": result.store,
        "id": result.id,
        "name": result.name,
        "output": result.path or None,
        "status": result.status,
        "chunks": result.chunks,
        "characters": 0,
        "bytes": result.bytes,
        "sha256": None,
        "strategy": None,
        "verdict": result.verdict,
        "missing": 0,
        "order": None,
        "notes": list(result.notes),
        "attributes": result.attributes,
        "seams": [],
        "verify": result.checked or None,
    }
