"""Texts of a store's server that JSON can hold and nothing else can: halves of characters."""


def is_sound(text: str) -> bool:
    """Whether it may become part of an address, of a request, or of a file's name."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sound(text: str) -> str:
    """It, with a mark in place of each half of a character."""
    return text.encode("utf-8", "replace").decode() if not is_sound(text) else text
