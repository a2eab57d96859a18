"""Originals as objects in a bucket of any server that speaks S3.

The calls that block, each in a thread: this library's async ones can abort a process that is
about to end (PyO3/pyo3-async-runtimes#40), and a command ends right after its last one.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeVar

from unchunk.adapters.blobs.claims import another_has
from unchunk.adapters.blobs.keys import check_key
from unchunk.errors import (
    IntegrityError,
    InvalidInputError,
    InvalidSettingError,
    MissingPartError,
    NotFoundError,
    OutputError,
    ProviderRefusedError,
    ProviderUnavailableError,
)

try:
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
    from obstore.store import S3Store
except ImportError as missing:
    raise MissingPartError("S3 is not installed: pip install 'unchunk[s3]'") from missing

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

T = TypeVar("T")

_PART = 2**23
# S3 takes no more of them; a few fewer, since a file may be longer than it was.
_MOST_PARTS = 9_000
_PARTS_AT_ONCE = 4
_BLOCK = 2**20
_THREADS = 8
# Under the prefix: originals, and whose they are. No prefix has a part of such a name, so what one
# library has is never below what another has.
_ORIGINALS, _CLAIMS = "uploads", "unchunk-library"
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_BUSY = 408, 429


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds: until a connection is there, until a server says anything, and how long
    something that failed is tried again.
    """

    connect: float = 5.0
    answer: float = 20.0
    retry: float = 30.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where objects are. What is empty comes from the environment as AWS names it, or from the
    machine's role.
    """

    name: str
    prefix: str = ""
    url: str = ""
    region: str = ""
    id: str = ""
    key: str = ""

    def __repr__(self) -> str:
        return f"Bucket({self.name}/{self.prefix} at {self.url or 'AWS'})"


class S3Blobs:
    """Nothing is reached before it is used. `incoming` is a folder on this machine: an object is
    copied there while somebody reads it.

    A `put` that was killed leaves no object, but parts that only the server sees: it is told by a
    rule of the bucket to drop them (`AbortIncompleteMultipartUpload`).
    """

    def __init__(self, bucket: Bucket, incoming: Path, patience: Patience | None = None) -> None:
        self._bucket = bucket
        self._incoming = incoming
        self._store = _opened(bucket, patience or Patience())
        # Its own: a server that hangs must not hold up what else runs in threads.
        self._threads = ThreadPoolExecutor(_THREADS, "s3")

    async def claim(self, library: str) -> None:
        await self._run(lambda: self._claim(library))

    async def put(self, key: str, source: Path) -> None:
        check_key(key)
        await self._run(lambda: self._put(key, source))

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        check_key(key)
        folder = await self._run(self._folder)
        try:
            yield await self._run(lambda: self._fetch(key, folder / "original"))
        finally:
            await self._run(lambda: shutil.rmtree(folder, ignore_errors=True))

    async def delete(self, key: str) -> None:
        check_key(key)
        await self._run(lambda: self._delete(key))

    async def keys(self) -> Mapping[str, int]:
        return await self._run(self._keys)

    async def sweep(self, older_than: float = 3600.0) -> int:  # noqa: ARG002 - the port's
        """Nothing: a server keeps no half objects, and what is left of parts is its own to drop."""
        return 0

    async def close(self) -> None:
        """What still waits for a server ends by its own patience, and nobody waits for it."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _claim(self, library: str) -> None:
        """Each library has a mark of its own. Of two who see none and leave theirs at the same
        time, at least one sees the other's, whatever the server knows of conditions.
        """
        with self._in_our_words("claim a place", ""):
            found = self._claims()
            if not found:
                self._store.put(f"{_CLAIMS}/{library}", b"")
                found = self._claims()
                if found != {library}:
                    self._store.delete(f"{_CLAIMS}/{library}")
        if others := found - {library}:
            it = self._bucket
            place = f"s3:{it.name}{'/' if it.prefix else ''}{it.prefix}"
            path = "/".join(filter(None, (it.prefix, _CLAIMS, min(others))))
            raise another_has(place, min(others), f"the object {path}")

    def _claims(self) -> set[str]:
        return {Path(one["path"]).name for page in self._store.list(_CLAIMS) for one in page}

    def _put(self, key: str, source: Path) -> None:
        try:
            with source.open("rb") as file:
                size = file.seek(0, 2)
        except OSError as error:
            raise InvalidInputError(f"cannot read {source}: {error.strerror or error}") from error
        part = max(_PART, size // _MOST_PARTS + 1)
        with self._in_our_words("write", key):
            # Each part goes with its SHA-256, which the server compares.
            written = self._store.put(
                _path(key), source, chunk_size=part, max_concurrency=_PARTS_AT_ONCE
            )
            found = self._store.head(_path(key))
        if found["size"] != size or found["e_tag"] != written["e_tag"]:
            raise IntegrityError(
                f"the blob {key!r} in the bucket {self._bucket.name} has {found['size']:,} bytes"
                f" and should have {size:,}: another program writes there, too; try again"
            )

    def _folder(self) -> Path:
        try:
            self._incoming.mkdir(parents=True, exist_ok=True)
            # With the prefix of what is cleaned up after a crash.
            return Path(mkdtemp(prefix="unchunk-", dir=self._incoming))
        except OSError as error:
            raise OutputError(
                f"cannot write to {self._incoming}: {error.strerror or error}"
            ) from error

    def _fetch(self, key: str, target: Path) -> Path:
        with self._in_our_words("read", key):
            got = self._store.get(_path(key))
            size = got.meta["size"]
            try:
                with target.open("wb") as file:
                    for block in got.stream(_BLOCK):
                        file.write(block)
                    written = file.tell()
            except OSError as error:
                raise OutputError(
                    f"cannot write {target}: {error.strerror or error}; make room and try again"
                ) from error
        if written != size:
            raise ProviderUnavailableError(
                f"of the blob {key!r} came {written:,} bytes of {size:,}: try again"
            )
        return target

    def _delete(self, key: str) -> None:
        try:
            with self._in_our_words("delete", key):
                self._store.delete(_path(key))
        except NotFoundError:
            return

    def _keys(self) -> dict[str, int]:
        with self._in_our_words("list", ""):
            found = (one for page in self._store.list(_ORIGINALS) for one in page)
            return {one["path"].removeprefix(_path("")): one["size"] for one in found}

    @contextmanager
    def _in_our_words(self, what: str, key: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            said = str(error).partition("\n\nDebug source")[0]
            status, code = _STATUS.search(said), _CODE.search(said)
            number, word = int(status[1]) if status else 0, code[1] if code else ""
            place = f"the bucket {self._bucket.name} at {self._bucket.url or 'AWS'}"
            if isinstance(error, FileNotFoundError) and key and word != "NoSuchBucket":
                raise NotFoundError(f"there is no blob {key!r}") from None
            if isinstance(error, PermissionDeniedError | UnauthenticatedError) or (
                300 <= number < 500 and number not in _BUSY
            ):
                raise ProviderRefusedError(
                    f"cannot {what} in {place}: {word or number or 'refused'}; {_hint(word)}"
                ) from None
            why = f"it answers {number} {word}".strip() if number else "no answer"
            raise ProviderUnavailableError(
                f"cannot {what} in {place}: {why}; is blobs_url right, and the server up?"
            ) from None


def _path(key: str) -> str:
    return f"{_ORIGINALS}/{key}"


def _hint(code: str) -> str:
    if code == "NoSuchBucket":
        return "make it, or name another one in blobs"
    if code in ("PermanentRedirect", "AuthorizationHeaderMalformed"):
        return "check blobs_region"
    return "check blobs, blobs_id and blobs_key, and what that key may do there"


def _opened(bucket: Bucket, patience: Patience) -> S3Store:
    if taken := {_ORIGINALS, _CLAIMS} & set(bucket.prefix.split("/")):
        raise InvalidSettingError(
            f"blobs cannot be in {bucket.prefix}: {min(taken)} is what a library calls a part of"
            " its own; choose another name"
        )
    config: S3Config = {"checksum_algorithm": "SHA256", "disable_bulk_delete": True}
    if bucket.url:
        config |= {"endpoint": bucket.url, "virtual_hosted_style_request": False}
    if bucket.region:
        config["region"] = bucket.region
    if bucket.id:
        config |= {"access_key_id": bucket.id, "secret_access_key": bucket.key}
    connect, answer = timedelta(seconds=patience.connect), timedelta(seconds=patience.answer)
    client: ClientConfig = {"connect_timeout": connect, "read_timeout": answer}
    # Not for all of a long one: as long as something comes, it goes on.
    client |= {"timeout": timedelta(hours=1), "allow_http": True}
    retry: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=patience.retry)}
    try:
        return S3Store(
            bucket.name,
            prefix=bucket.prefix or None,
            config=config,
            client_options=client,
            retry_config=retry,
        )
    except (BaseError, ValueError) as error:
        said = str(error).partition("\n\nDebug source")[0]
        raise InvalidSettingError(f"blobs cannot be used: {said}") from None
