"""Which files are taken, and how."""

import asyncio
import os
import resource
import socket
import threading
from pathlib import Path

import pytest

from gates import until
from unchunk.errors import ExtractionError, InvalidInputError, OutputError
from unchunk.library import intake
from unchunk.library.intake import Source, Staged, check_name, sources, stage


def files(*paths: str | Path) -> dict[str, str]:
    return {source.name: source.problem for source in sources(paths)}


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def test_files_of_a_folder_are_called_by_their_path_in_it(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a.md", "sub/a.md", ".hidden", ".git/config")
    assert list(files(tmp_path)) == ["a.md", "b.md", "sub/a.md"]


def test_a_file_is_called_by_its_name_and_taken_once(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    assert list(files(tmp_path / "a.md", tmp_path / "a.md", tmp_path)) == ["a.md"]


def test_a_pattern_stands_for_its_files(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.txt", "sub/c.md")
    assert list(files(f"{tmp_path}/*.md")) == ["a.md"]
    assert list(files(f"{tmp_path}/**/*.md")) == ["a.md", "sub/c.md"]
    assert list(files(f"{tmp_path}/su*")) == ["sub/c.md"]


def test_a_pattern_takes_folders_whatever_else_it_finds(tmp_path: Path) -> None:
    make(tmp_path, "sub/a.md", "sub/deep/a.md", "other/deep/a.md")
    below = ["other/deep/a.md", "sub/a.md", "sub/deep/a.md"]
    assert list(files(f"{tmp_path}/*")) == below
    make(tmp_path, "b.md")
    assert list(files(f"{tmp_path}/*")) == ["b.md", *below]
    assert sorted(files(f"{tmp_path}/**")) == ["b.md", *below]
    assert list(files(f"{tmp_path}/*/deep")) == ["other/deep/a.md", "sub/deep/a.md"]


def test_a_file_with_a_bracket_in_its_name_is_no_pattern(tmp_path: Path) -> None:
    make(tmp_path, "a[1].md")
    assert list(files(tmp_path / "a[1].md")) == ["a[1].md"]


@pytest.mark.parametrize("path", ["nothing", "nothing*.md"])
def test_what_is_not_there_is_an_error_that_names_it(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidInputError, match="nothing"):
        files(tmp_path / path)


def test_a_link_out_of_the_folder_is_a_problem_and_one_inside_is_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    make(tmp_path, "secret.txt", "folder/a.txt")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "in.txt").symlink_to(folder / "a.txt")
    (folder / "up").symlink_to(tmp_path)
    found = files(folder)
    assert "leads out of" in found["out.txt"]
    assert {name for name, problem in found.items() if not problem} == {"a.txt"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("../up.txt", "leads out"),
        ("a/../../b", "leads out"),
        ("a\\..\\b", "leads out"),
        ("/etc/passwd", "leads out"),
        ("nul\0.txt", "no name has"),
        ("line\nbreak", "no name has"),
        ("half\ud800", "no name has"),
        ("x" * 1001, "longer"),
    ],
)
def test_a_name_that_no_document_can_have_is_refused(name: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        check_name(name)


@pytest.mark.parametrize("name", ["a.txt", "sub/ä b.md", "..a", "x" * 300, "файл.pdf"])
def test_other_names_are_taken(name: str) -> None:
    assert check_name(name) == name


def staged(path: Path, incoming: Path, limit: int = 1000) -> tuple[str, int]:
    done = asyncio.run(stage(Source(path, path.name), incoming, limit))
    assert done.path.read_bytes() == path.read_bytes()
    return done.checksum, done.size


def test_a_copy_is_made_with_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello")
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    checksum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert staged(path, incoming) == (checksum, 5)


def fails(path: Path, incoming: Path, problem: str = "") -> ExtractionError:
    with pytest.raises(ExtractionError) as caught:
        asyncio.run(stage(Source(path, path.name, problem), incoming, 1000))
    assert str(caught.value).startswith("it ")
    assert list(incoming.iterdir()) == []
    return caught.value


def test_what_cannot_be_taken_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    assert fails(tmp_path / "gone", incoming).code == "unreadable"
    assert fails(tmp_path, incoming).code == "unreadable"
    assert fails(tmp_path / "link", incoming, "it leads out").code == "unreadable"
    os.mkfifo(tmp_path / "pipe")
    assert fails(tmp_path / "pipe", incoming).code == "unreadable"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        assert fails(tmp_path / "socket", incoming).code == "unreadable"


def test_a_copy_that_is_cancelled_before_it_begins_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("hello")
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    reached, go = threading.Event(), threading.Event()
    copied: list[Staged] = []
    copy = intake._copy

    def late(source: int, target: Path, max_bytes: int) -> Staged:
        reached.set()
        go.wait()
        copied.append(copy(source, target, max_bytes))
        return copied[0]

    monkeypatch.setattr(intake, "_copy", late)

    async def work() -> None:
        async with asyncio.timeout(60):
            staging = asyncio.create_task(stage(Source(tmp_path / "a", "a"), incoming, 1000))
            await until(reached.is_set)
            staging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await staging
            go.set()
            await until(lambda: bool(copied))
            await until(lambda: not any(incoming.iterdir()))

    asyncio.run(work())


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2_000_000_000)
    error = fails(tmp_path / "huge", incoming)
    assert error.code == "too-big"
    assert "2,000,000,000 bytes" in str(error)


def test_a_full_disk_is_an_error_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello" * 1000)
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OutputError, match="no space"):
            asyncio.run(stage(Source(path, "a"), incoming, 10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(incoming.iterdir()) == []
