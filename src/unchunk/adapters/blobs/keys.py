"""Keys of blobs: paths with slashes that stay where they belong, in every store."""

import re

from unchunk.errors import InvalidInputError

# What ends or leaves a folder on some system, or cannot be in a name at all.
_FORBIDDEN = re.compile(r"[\x00-\x1f\\:\x7f\ud800-\udfff]")


def check_key(key: str) -> None:
    """Refuse a key that could lead out of its folder; a part never begins with a dot."""
    if _FORBIDDEN.search(key) or any(not part or part[0] == "." for part in key.split("/")):
        raise InvalidInputError(
            f"{key!r} is not a blob key: use names with single slashes between them, without "
            "leading dots, colons, backslashes and control characters"
        )
