"""Keys of blobs: paths with slashes that stay where they belong, in every store."""

import re
from datetime import date
from hashlib import sha256
from uuid import UUID

from unchunk.errors import InvalidInputError

_ODD = re.compile(r"[^A-Za-z0-9_@+.-]|^\.|\.$")
_LONGEST = 120
# What ends or leaves a folder on some system, or cannot be in a name at all.
_FORBIDDEN = re.compile(r"[\x00-\x1f\\:\x7f\ud800-\udfff]")


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


def check_key(key: str) -> None:
    """Refuse a key that could lead out of its folder; a part never begins with a dot."""
    if _FORBIDDEN.search(key) or any(not part or part[0] == "." for part in key.split("/")):
        raise InvalidInputError(
            f"{key!r} is no key of a blob: use names with single slashes between them, without "
            "leading dots, colons, backslashes and control characters"
        )
