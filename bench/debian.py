"""What the documentation packages of Debian hold, where any of them is installed.

Such are debian-policy and debian-faq: real prose and real manuals, and free for anybody to have.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

PACKAGES = "debian*"
_PLACE = Path("/usr/share/doc")


def texts(place: Path = _PLACE) -> Iterator[str]:
    for path in _files(place, ".txt"):
        yield _unpacked(path).decode("utf-8", "replace")


def manuals(cache: Path, place: Path = _PLACE) -> list[Path]:
    """PDFs, unpacked into `cache`; of links to the same one, one."""
    cache.mkdir(parents=True, exist_ok=True)
    found = []
    for path in _files(place, ".pdf"):
        name = "-".join(path.relative_to(place).parts).removesuffix(".gz")
        (cache / name).write_bytes(_unpacked(path))
        found.append(cache / name)
    return found


def _files(place: Path, suffix: str) -> list[Path]:
    found = [
        path
        for pattern in (f"{PACKAGES}/**/*{suffix}", f"{PACKAGES}/**/*{suffix}.gz")
        for path in place.glob(pattern)
    ]
    # A link leads elsewhere, maybe out of here; the first of its names stays.
    first = {path.resolve(): path for path in sorted(found, reverse=True) if path.is_file()}
    return sorted(first.values())


def _unpacked(path: Path) -> bytes:
    packed = path.read_bytes()
    return gzip.decompress(packed) if path.suffix == ".gz" else packed
