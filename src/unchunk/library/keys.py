"""Where the original of a new file is kept: a path that is safe, whoever owns it."""

import re
from datetime import date
from hashlib import sha256
from uuid import UUID

_ODD = re.compile(r"[^A-Za-z0-9_@+.-]|^\.|\.$")
_LONGEST = 120


def blob_key(owner: str, day: date, uuid: UUID) -> str:
    """`{owner}/{day}/{uuid}`, with an owner of any kind and length.

    Plain ids are themselves. In others each odd character becomes `%` and its bytes in
    hexadecimal, so that no two owners share a folder; a very long one ends in its digest.
    """
    return f"{_folder_of(owner)}/{day.isoformat()}/{uuid}"


def _folder_of(owner: str) -> str:
    escaped = _ODD.sub(_escape, owner)
    if len(escaped) <= _LONGEST:
        return escaped or "%"
    # Two percent signs in a row are in no escape, so a short owner never looks like this.
    digest = sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{escaped[: _LONGEST // 2]}%%{digest}"


def _escape(odd: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in odd[0].encode("utf-8", "surrogatepass"))
