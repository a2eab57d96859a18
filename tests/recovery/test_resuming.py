"""A recovery that is interrupted, in whatever way, and goes on."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from recovery.recovering import STORE, recovered
from recovery.vector_stores import Exchange, Held, VectorStores, prose, refusing
from unchunk.errors import OutputError
from unchunk.ports import LostChunks, LostFile
from unchunk.recovery.output import FOLDER
from unchunk.recovery.spool import Spool

TEXTS = {f"file-{at}": prose(400, at) for at in range(12)}


def command(server: VectorStores, output: Path) -> list[str]:
    given = ["--vector-store", STORE, "--base-url", server.url, "--output", str(output)]
    return [sys.executable, "-m", "unchunk", "recover", *given, "--concurrency", "2"]


def fill(server: VectorStores) -> None:
    server.put(STORE, *(Held(one, f"{one}.md", text, 200, 100) for one, text in TEXTS.items()))


def fetched(server: VectorStores) -> Counter[str]:
    return Counter(path.split("/")[-2] for path in server.seen if path.endswith("/content"))


class Gate:
    """Lets so many contents through; the others wait until it opens."""

    def __init__(self, server: VectorStores, through: int) -> None:
        self.left = through
        self.waiting = threading.Event()
        self._open = threading.Event()
        self._lock = threading.Lock()
        self._server = server
        server.faults.append(("/content", self._pass))

    def open(self) -> None:
        self._server.faults.clear()
        self._open.set()

    def _pass(self, exchange: Exchange) -> None:
        with self._lock:
            self.left -= 1
            blocked = self.left < 0
        if blocked:
            self.waiting.set()
            self._open.wait(60)
            exchange.close_connection = True
            return
        held = next(one for one in self._server.stores[STORE] if f"/{one.id}/" in exchange.path)
        rows = [{"type": "text", "text": text} for text in held.cut()]
        exchange.reply(200, {"data": rows, "has_more": False})


def spooled(output: Path) -> int:
    return len(list((output / FOLDER).glob("*.chunks")))


def settled(output: Path, count: int) -> bool:
    end = time.monotonic() + 30
    while spooled(output) < count and time.monotonic() < end:
        time.sleep(0.02)
    return spooled(output) == count


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_what_was_fetched_is_not_fetched_again(
    server: VectorStores, tmp_path: Path, how: signal.Signals
) -> None:
    fill(server)
    gate = Gate(server, 5)
    with subprocess.Popen(
        command(server, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as begun:
        try:
            assert gate.waiting.wait(60)
            assert settled(tmp_path, 5)
            os.kill(begun.pid, how)
            _, said = begun.communicate(timeout=60)
        finally:
            begun.kill()
    assert begun.returncode == (-9 if how is signal.SIGKILL else 130)
    if how is signal.SIGINT:
        assert "the same command goes on" in said
        assert "Traceback" not in said
    assert not (tmp_path / "recovery.json").exists()
    gate.open()
    before = fetched(server)
    server.seen.clear()
    assert recovered(server, tmp_path, verify=True).is_whole
    # Those that came through the gate were asked for once; of the rest, some had begun.
    after = fetched(server)
    assert sum(after.values()) == len(TEXTS) - 5
    assert set(after.values()) == {1}
    assert len(before | after) == len(TEXTS)
    for one, text in TEXTS.items():
        assert (tmp_path / f"{one}.md.reconstructed.md").read_text() == text
    assert not (tmp_path / FOLDER).exists()
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".json"}
    report = json.loads((tmp_path / "recovery.json").read_text())
    assert report["totals"]["verify"] == {"same": len(TEXTS)}


def test_what_could_not_be_had_is_all_that_is_fetched_next_time(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    server.faults.append(("file-3/content", refusing(400, "not this one")))
    first = recovered(server, tmp_path)
    assert not first.is_whole
    assert [one.id for one in first.results if one.status == "not fetched"] == ["file-3"]
    assert (tmp_path / "file-2.md.reconstructed.md").exists()
    server.faults.clear()
    server.seen.clear()
    assert recovered(server, tmp_path).is_whole
    assert fetched(server) == {"file-3": 1}
    assert not (tmp_path / FOLDER).exists()


def test_what_changed_meanwhile_is_fetched_again(server: VectorStores, tmp_path: Path) -> None:
    fill(server)
    server.faults.append(("file-3/content", refusing(400, "not this one")))
    assert not recovered(server, tmp_path).is_whole
    server.faults.clear()
    server.seen.clear()
    changed = server.stores[STORE][5]
    changed.text, changed.chunks, changed.created_at = "Another text.\n", None, 1_800_000_000
    assert recovered(server, tmp_path).is_whole
    assert fetched(server) == {"file-3": 1, "file-5": 1}
    assert (tmp_path / "file-5.md.reconstructed.md").read_text() == "Another text.\n"


def test_what_nothing_tells_of_whether_it_changed_is_fetched_again(tmp_path: Path) -> None:
    marked, plain = LostFile("1", "a.md", mark="x"), LostFile("2", "b.md")
    chunks = LostChunks(("a", "b"), True, ("note",), (0, 1), complete=True)
    with Spool(tmp_path) as spool:
        for file in (marked, plain):
            spool.put("store", file, chunks)
            assert spool.has("store", file)
            assert spool.get("store", file) == chunks
    with Spool(tmp_path) as spool:
        assert spool.get("store", marked) == chunks
        assert not spool.has("store", plain)
        assert spool.get("store", plain) is None


def test_what_is_damaged_on_the_disk_is_fetched_again(server: VectorStores, tmp_path: Path) -> None:
    fill(server)
    server.faults.append(("file-3/content", refusing(400, "not this one")))
    assert not recovered(server, tmp_path).is_whole
    kept = sorted((tmp_path / FOLDER).glob("*.chunks"))
    kept[0].write_bytes(kept[0].read_bytes()[:-100])
    kept[1].write_bytes(kept[1].read_bytes().replace(b"word", b"work", 1))
    kept[2].write_bytes(kept[3].read_bytes())
    kept[4].write_bytes(b"")
    server.faults.clear()
    server.seen.clear()
    assert recovered(server, tmp_path).is_whole
    assert sum(fetched(server).values()) == 5
    for one, text in TEXTS.items():
        assert (tmp_path / f"{one}.md.reconstructed.md").read_text() == text


def test_a_server_that_went_away_is_not_tried_for_every_file(
    server: VectorStores, tmp_path: Path
) -> None:
    fill(server)
    server.faults.append(("/content", refusing(503, "gone", retry_after="3600")))
    done = recovered(server, tmp_path, concurrency=2)
    assert len(fetched(server)) <= 5
    assert {one.status for one in done.results} == {"not fetched"}
    assert done.results[-1].notes[0].startswith("it was not tried: ")
    assert "before it failed in a row" in done.results[-1].notes[0]


def test_two_at_once_do_not_write_to_one_folder(server: VectorStores, tmp_path: Path) -> None:
    fill(server)
    with Spool(tmp_path), pytest.raises(OutputError, match="another recovery writes to"):
        recovered(server, tmp_path)
    assert recovered(server, tmp_path).is_whole
    assert not (tmp_path / FOLDER).exists()


def test_a_spool_that_is_a_link_is_not_followed(server: VectorStores, tmp_path: Path) -> None:
    fill(server)
    output, elsewhere = tmp_path / "output", tmp_path / "elsewhere"
    output.mkdir()
    elsewhere.mkdir()
    (output / FOLDER).symlink_to(elsewhere)
    with pytest.raises(OutputError, match="is a link: remove it"):
        recovered(server, output)
    assert list(elsewhere.iterdir()) == []
