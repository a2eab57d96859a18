"""The page: a handful of files beside this one, served as they are.

A browser is told to take nothing from anywhere else, to run no script but these files, and to ask
each time whether one has changed. Knows nothing of who is asking: the page is the same for all.
"""

import gzip
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from unchunk.errors import NotFoundError

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:;"
    " connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
# Beside what every reply has.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}

Told = Annotated[str, Header()]


@router.api_route("/", methods=["GET", "HEAD"])
def index(if_none_match: Told = "", accept_encoding: Told = "") -> Response:
    return _served("index.html", if_none_match, accept_encoding)


@router.api_route("/page/{name}", methods=["GET", "HEAD"])
def file(name: str, if_none_match: Told = "", accept_encoding: Told = "") -> Response:
    return _served(name, if_none_match, accept_encoding)


@router.api_route("/favicon.ico", methods=["GET", "HEAD"])
def favicon(if_none_match: Told = "", accept_encoding: Told = "") -> Response:
    """Where browsers look that have not read the page."""
    return _served("favicon.svg", if_none_match, accept_encoding)


def names() -> list[str]:
    """What there is: no other name, however it is written, reaches the disk."""
    return sorted(one.name for one in FOLDER.iterdir() if one.suffix in TYPES)


def _served(name: str, known: str, encodings: str) -> Response:
    if name not in names():
        raise NotFoundError(f"the page has no file {name[:100]!r}")
    content = (FOLDER / name).read_bytes()
    # A tag stands for bytes as they are sent, and these are sent in two ways.
    tag, headers = hashlib.sha256(content).hexdigest()[:32], dict(HEADERS)
    is_packed = _takes_gzip(encodings)
    tag = f'"{tag}-gzip"' if is_packed else f'"{tag}"'
    headers["ETag"] = tag
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")):
        return Response(status_code=304, headers=headers)
    if is_packed:
        content = _packed(content)
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type=TYPES[Path(name).suffix])


def _takes_gzip(encodings: str) -> bool:
    for one in encodings.lower().split(","):
        coding, _, weight = one.partition(";")
        if coding.strip() == "gzip":
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False


@lru_cache(maxsize=64)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
