"""What is read ahead of searches, and what is not."""

from pathlib import Path

import pytest

from unchunk.adapters.index import edge_home
from unchunk.adapters.index.edge_home import Home

_READ = Path("/proc/self/io")
_MEGABYTES = 5_000_000

pytestmark = pytest.mark.skipif(not _READ.exists(), reason="only Linux tells what a process reads")


def _bytes_read() -> int:
    [line] = [it for it in _READ.read_text("ascii").splitlines() if it.startswith("rchar")]
    return int(line.split()[1])


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Home:
    """Of two shards the second is the current one."""
    home = Home(tmp_path)
    for number in (1, 2):
        (tmp_path / str(number) / "segments").mkdir(parents=True)
    (tmp_path / "1" / "segments" / "vectors").write_bytes(bytes(4 * _MEGABYTES))
    (tmp_path / "2" / "segments" / "vectors").write_bytes(bytes(_MEGABYTES))
    home.make_current(tmp_path / "2", 384)
    return home


def test_all_of_the_current_shard_is_read(home: Home) -> None:
    before = _bytes_read()

    home.read_ahead()

    assert _MEGABYTES <= _bytes_read() - before < 2 * _MEGABYTES


def test_more_than_half_of_the_memory_is_not(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_home, "_memory", lambda: _MEGABYTES)
    before = _bytes_read()

    home.read_ahead()

    assert _bytes_read() - before < _MEGABYTES / 2


def test_holes_are_not_read_and_do_not_count(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    [vectors] = home.folder.glob("2/segments/vectors")
    for at in (8, 40):
        with vectors.open("r+b") as file:
            file.seek(at * _MEGABYTES)
            file.write(b"data behind a hole")
            file.truncate((at + 8) * _MEGABYTES)
    monkeypatch.setattr(edge_home, "_memory", lambda: 4 * _MEGABYTES)
    before = _bytes_read()

    home.read_ahead()

    assert _MEGABYTES <= _bytes_read() - before < 2 * _MEGABYTES


def test_a_shard_that_is_gone_meanwhile_is_no_trouble(home: Home, tmp_path: Path) -> None:
    (tmp_path / "2" / "segments" / "vectors").unlink()
    (tmp_path / "2" / "segments" / "vectors").symlink_to("nowhere")
    home.read_ahead()

    (tmp_path / "current.json").write_text("{}", "utf-8")
    home.read_ahead()
