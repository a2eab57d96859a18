"""What documents are found by of all that their owners say of them."""

import json
from hashlib import sha256

from unchunk.domain import json_object
from unchunk.errors import InvalidInputError


def mark_of(name: str, value: object) -> bytes:
    """The same for the same name with the same value, and for no other."""
    if not isinstance(value, (str, int, float)):
        raise InvalidInputError(
            f"{name!r} cannot be compared with a {type(value).__name__}: give a text, a number, "
            "or true or false"
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    json_object({name: value}, "a filter")
    spelled = json.dumps([name, value], ensure_ascii=False)
    return sha256(spelled.encode("utf-8", "surrogatepass")).digest()
