"""Chunks out of lines of JSON: `{"file": ..., "text": ..., "index": ...}`."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from unchunk.errors import InvalidInputError


class FileChunks(NamedTuple):
    """The chunks of one file in order; `from_start` tells whether the first is there, if known."""

    texts: list[str]
    from_start: bool | None


def read_chunks(lines: Iterable[bytes], source: str) -> dict[str, FileChunks]:
    """The chunks of each file, in the order of the lines or, where given, of `index` from 0.

    Other keys are let be; blank lines too. A line that is no such chunk is an error that names
    `source` and the line: leaving it out would leave a hole in a file.
    """
    files: dict[str, list[tuple[int | None, str]]] = {}
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
        index = record.get("index")
        if index is not None and (type(index) is not int or index < 0):
            raise InvalidInputError(f"{source}:{number}: 'index' is not a whole number: {index!r}")
        files.setdefault(record["file"], []).append((index, record["text"]))
    if not files:
        raise InvalidInputError(f"{source}: there are no chunks in it")
    return {name: _in_order(name, chunks, source) for name, chunks in files.items()}


def _in_order(name: str, chunks: list[tuple[int | None, str]], source: str) -> FileChunks:
    indices = [index for index, _ in chunks if index is not None]
    if not indices:
        return FileChunks([text for _, text in chunks], None)
    if len(indices) < len(chunks):
        raise InvalidInputError(f"{source}: some chunks of {name!r} have an 'index' and some none")
    if len(set(indices)) < len(indices):
        raise InvalidInputError(f"{source}: two chunks of {name!r} have the same 'index'")
    ordered = [text for _, text in sorted(zip(indices, (text for _, text in chunks), strict=True))]
    return FileChunks(ordered, min(indices) == 0)
