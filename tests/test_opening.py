"""`unchunk.open`, with `async` and without."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

import unchunk
from unchunk.chat.events import Done
from unchunk.chat.request import ChatRequest, question

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_library_without_async(tmp_path: Path) -> None:
    with unchunk.open(tmp_path, embedder="hashing") as library:
        [outcome] = library.add(EXAMPLES / "haiku.md")
        assert outcome.result == "added"
        assert library.text("haiku.md").encode() == (EXAMPLES / "haiku.md").read_bytes()
        with library.original("haiku.md") as path:
            assert path.read_bytes() == (EXAMPLES / "haiku.md").read_bytes()
        with pytest.raises(unchunk.UnchunkError):
            library.text("nothing")


def test_an_error_inside_a_context_ends_the_context_and_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unchunk.open(tmp_path, embedder="hashing") as library:
        library.add(EXAMPLES / "haiku.md")
        blobs = library._engine._engine._parts.blobs  # type: ignore[union-attr] # it is an engine's
        local, ended = blobs.local, []

        @asynccontextmanager
        async def watched(key: str) -> AsyncIterator[Path]:
            try:
                async with local(key) as path:
                    yield path
            except ZeroDivisionError as error:
                ended.append(error)
                raise

        monkeypatch.setattr(blobs, "local", watched)
        with pytest.raises(ZeroDivisionError) as caught, library.original("haiku.md"):
            1 / 0  # noqa: B018 - it is the error that counts
        assert ended == [caught.value]
        with pytest.raises(unchunk.UnchunkError), library.original("nothing"):
            pass


def test_a_library_without_async_works_inside_an_event_loop(tmp_path: Path) -> None:
    async def notebook() -> int:
        with unchunk.open(tmp_path, embedder="hashing") as library:
            return len(library.documents())

    assert asyncio.run(notebook()) == 0


def test_an_answer_streams_without_async(tmp_path: Path) -> None:
    asked = ChatRequest(question("Which sound does the water make?"))
    with unchunk.open(tmp_path, embedder="hashing") as library:
        library.add(EXAMPLES / "haiku.md")
        kinds = [event.kind for event in library.chat(asked)]
        assert kinds[:2] == ["plan", "sources"]
        assert kinds[-1] == "done"
        *_, done = library.chat(asked)
        assert isinstance(done, Done)
        with closing(library.chat(asked)) as events:
            next(events)
        with pytest.raises(unchunk.UnchunkError, match="the question is empty"):
            next(library.chat(ChatRequest(question(" "))))


def test_a_library_with_async(tmp_path: Path) -> None:
    async def work() -> str:
        async with unchunk.open(tmp_path, embedder="hashing") as library:
            await library.add(EXAMPLES / "haiku.md")
            found = await library.search("haiku")
            return found.hits[0].name

    assert asyncio.run(work()) == "haiku.md"


def test_a_home_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(unchunk.UnchunkError, match="choose another --home"),
        unchunk.open(tmp_path / "file" / "home", embedder="hashing"),
    ):
        pass


@pytest.mark.parametrize("setting", [{"embedder": "nonsense"}, {"index": "nonsense"}])
def test_an_adapter_that_is_not_there_is_an_error(
    tmp_path: Path, setting: dict[str, str | float | None]
) -> None:
    options: dict[str, str | float | None] = {"embedder": "hashing", **setting}
    with pytest.raises(unchunk.UnchunkError, match="nonsense"), unchunk.open(tmp_path, **options):
        pass


OFFLINE = """
import sys
import unchunk
with unchunk.open(sys.argv[1]) as library:
    outcomes = library.add(sys.argv[2])
    assert {one.result for one in outcomes} == {"added"}, outcomes
    [hit, *_] = library.search("What does it cost to lie in the harbour for a night?").hits
    assert hit.name == "harbour-rules.md", hit
    assert not library.search("anything").notes
    assert library.delete("harbour-rules.md").clean
"""


def test_a_fresh_home_works_with_the_network_cut(tmp_path: Path) -> None:
    cut = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*cut, "true"], check=False).returncode:
        pytest.skip("this system lets nobody cut the network: unshare is not permitted")
    done = subprocess.run(
        [*cut, sys.executable, "-c", OFFLINE, str(tmp_path / "home"), f"{EXAMPLES}/*.md"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
