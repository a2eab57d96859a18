"""Chunks out of lines of JSON: `{"file": ..., "text": ...}`, in the order of the text."""

import json
from collections.abc import Iterable

from unchunk.errors import InvalidInputError


def read_chunks(lines: Iterable[bytes], source: str) -> dict[str, list[str]]:
    """The chunks of each file. Other keys are let be; blank lines too.

    A line that is no such chunk is an error that names `source` and the line: leaving it out
    would leave a hole in a file.
    """
    files: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{source}:{number}: not a line of JSON: {error}") from None
        if not isinstance(record, dict):
            raise InvalidInputError(f'{source}:{number}: not {{"file": ..., "text": ...}}')
        for key in ("file", "text"):
            if not isinstance(record.get(key), str):
                raise InvalidInputError(f"{source}:{number}: {key!r} is missing or not a string")
        files.setdefault(record["file"], []).append(record["text"])
    if not files:
        raise InvalidInputError(f"{source}: there are no chunks in it")
    return files
