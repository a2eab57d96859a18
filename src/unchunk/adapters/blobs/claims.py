"""A place for originals is one library's: what is said where it is not."""

from unchunk.errors import InvalidSettingError


def another_has(place: str, library: str, marker: str) -> InvalidSettingError:
    """`marker` is what says so."""
    return InvalidSettingError(
        f"{place} holds the originals of another library, {library}: choose another place for the"
        f" setting blobs. If that library no longer exists, remove {marker}; `unchunk doctor` then"
        " lists the files that it left behind"
    )
