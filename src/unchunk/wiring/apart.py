"""Whether two libraries keep their things apart: what one deletes must not be the other's."""

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from unchunk.errors import InvalidInputError, InvalidSettingError
from unchunk.settings import Settings

# Indexes in the home; those of servers and databases carry the library's id.
_IN_HOME = ("edge", "chroma")
_AWS = "amazonaws.com"
# Where the environment says it, as AWS names it, if the settings do not.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_USUAL_PORTS = (None, 80, 443)


class _Bucket(NamedTuple):
    server: str
    name: str
    prefix: tuple[str, ...]


def check_apart(source: Settings, target: Settings) -> None:
    """Raise if they are the same library, or if one keeps originals or an index in the other's
    place, however that is spelled.

    One place that two machines, or two mounts, know by two names cannot be seen from here.
    """
    same_home = _is_same(source.home.resolve(), target.home.resolve())
    if source.catalog == target.catalog and (source.catalog or same_home):
        raise InvalidInputError("source and target are the same library: name another target")
    if _share_originals(source, target):
        raise InvalidInputError(
            "source and target would share their originals, and deleting one would delete the"
            " other: name a place that is not in the other one, say --set blobs=s3:BUCKET/PREFIX"
        )
    if same_home and source.index == target.index and source.index in _IN_HOME:
        raise InvalidInputError("source and target would share their index: name another one")


def _share_originals(source: Settings, target: Settings) -> bool:
    here, there = _bucket(source), _bucket(target)
    if here is None and there is None:
        # The folder in a home is where `folder:HOME` would put it; a link may lead elsewhere.
        one, other = _folder(source), _folder(target)
        kept = [(folder / "uploads").resolve() for folder in (one, other)]
        return _nest(one, other) or _nest(kept[0], kept[1])
    if here is None or there is None or here[:2] != there[:2]:
        return False
    shorter = min(len(here.prefix), len(there.prefix))
    return here.prefix[:shorter] == there.prefix[:shorter]


def _folder(settings: Settings) -> Path:
    where = settings.blobs.partition(":")[2]
    return (Path(where).expanduser() if where else settings.home).resolve()


def _nest(one: Path, other: Path) -> bool:
    return _is_in(one, other) or _is_in(other, one)


def _is_in(inner: Path, outer: Path) -> bool:
    return any(_is_same(at, outer) for at in (inner, *inner.parents))


def _is_same(one: Path, other: Path) -> bool:
    """By what they are, too: a mount, or a disk that does not tell upper case, has two names."""
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _bucket(settings: Settings) -> _Bucket | None:
    kind, _, where = settings.blobs.partition(":")
    if kind != "s3":
        return None
    name, *prefix = [part for part in where.split("/") if part] or [""]
    given = settings.blobs_url or next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    return _Bucket(_server(given), name, tuple(prefix))


def _server(url: str) -> str:
    """A name for it that does not depend on how its address is written."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise InvalidSettingError(f"blobs_url makes no sense: {error}") from error
    if not host or host == _AWS or host.endswith(f".{_AWS}"):
        return _AWS
    if host in ("localhost", "::1"):
        host = "127.0.0.1"
    return host if port in _USUAL_PORTS else f"{host}:{port}"
