"""How a shard is optimized and replaced, step by step."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from servers import ends
from unchunk.adapters.index import edge_optimize
from unchunk.adapters.index.edge_home import Home
from unchunk.adapters.index.edge_store import Store
from unchunk.adapters.index.packing import pack, pack_ids, pack_query
from unchunk.adapters.index.wire import Batch, Found
from unchunk.domain import Space, Terms, Within
from unchunk.ports import Point, Vectors
from unchunk.testing.indexes import ME, SEVEN, SPACE, point, vector


def batch(points: list[Point]) -> Batch:
    return pack(points, SPACE)


def found(store: Store, query: Vectors | Terms) -> Found:
    [found] = store.search(pack_query(query, ME, 9999))
    return found


def opened(folder: Path, enough: int = 10, pause: float = 0.0) -> Store:
    return Store(folder, SPACE.dimensions, enough=enough, quiet=0.0, pause=pause)


def until_swapped(store: Store, folder: Path) -> None:
    before = Home(folder).shard
    deadline = time.monotonic() + 120
    while Home(folder).shard == before:
        assert time.monotonic() < deadline
        store.go_on()
        time.sleep(0.005)


def until_given_up(store: Store) -> None:
    store.go_on()
    deadline = time.monotonic() + 120
    while store._optimizing is not None:
        assert time.monotonic() < deadline
        store.go_on()
        time.sleep(0.005)


def test_the_optimized_shard_holds_what_the_old_one_did(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.upsert(batch([point(f"d{at % 4}", at) for at in range(40)]))
    counts, hits = store.census(None), found(store, vector(1))
    until_swapped(store, tmp_path)
    assert Home(tmp_path).shard == tmp_path / "2"
    assert not (tmp_path / "1").exists()
    assert store.census(None) == counts
    assert found(store, vector(1)) == hits
    store.close()


def test_what_changes_meanwhile_is_carried_over(tmp_path: Path) -> None:
    rng = random.Random(8)
    store = opened(tmp_path)
    store.upsert(batch([point(f"d{at % 30}", at) for at in range(300)]))
    expected: dict[str, set[int]] = {f"d{n}": set(range(n, 300, 30)) for n in range(30)}
    deadline = time.monotonic() + 120
    number = 300
    while Home(tmp_path).shard == tmp_path / "1":
        assert time.monotonic() < deadline
        if not store.copying:
            name = f"d{rng.randrange(40)}"
            if rng.random() < 0.3:
                store.delete(name, None)
                expected[name] = set()
            else:
                store.upsert(batch([point(name, number)]))
                expected.setdefault(name, set()).add(number)
                number += 1
        store.go_on()
        time.sleep(0.002)
    assert store.census(None) == {
        (name, 1): len(chunks) for name, chunks in expected.items() if chunks
    }
    everything = {(name, at) for name, chunks in expected.items() for at in chunks}
    hits = found(store, SEVEN)
    assert set(zip(hits.documents, hits.chunk_indices, strict=True)) == everything
    store.close()


def test_a_few_changes_are_not_worth_it(tmp_path: Path) -> None:
    store = opened(tmp_path, enough=50)
    store.upsert(batch([point("d", at) for at in range(40)]))
    store.flush()
    store.close()
    store = opened(tmp_path, enough=50)
    store.go_on()
    assert not (tmp_path / "2").exists()
    store.delete("d", None)
    store.go_on()
    assert store.copying
    store.close()
    assert not (tmp_path / "2").exists()


def test_a_stream_of_writes_is_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    store = Store(tmp_path, SPACE.dimensions, enough=10, quiet=600.0)
    store.upsert(batch([point("d", at) for at in range(19)]))
    store.go_on()
    assert not (tmp_path / "2").exists()
    store.upsert(batch([point("d", 19)]))
    until_swapped(store, tmp_path)
    store.close()


def test_leftovers_of_a_crash_go_when_it_is_opened(tmp_path: Path) -> None:
    opened(tmp_path).close()
    shutil.copytree(tmp_path / "1", tmp_path / "7")
    (tmp_path / "8").mkdir()
    store = opened(tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_dir()) == ["1"]
    assert store.census(None) == {}
    store.close()


def test_the_count_of_changes_may_be_lost(tmp_path: Path) -> None:
    store = opened(tmp_path, enough=1000)
    store.upsert(batch([point("d", at) for at in range(20)]))
    store.close()
    assert Home(tmp_path).changes() == 20
    (tmp_path / "changes").write_text("?")
    store = opened(tmp_path)
    until_swapped(store, tmp_path)
    store.close()


def test_a_failure_to_optimize_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    store = opened(tmp_path, pause=600.0)
    store.upsert(batch([point("d", at) for at in range(20)]))
    until_given_up(store)
    monkeypatch.undo()
    assert not store.copying
    assert store.census(None) == {("d", 1): 20}
    store.go_on()
    assert not store.copying, "it is not tried again so soon"
    store.close()


def test_an_optimized_shard_that_cannot_be_opened_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    store = opened(tmp_path, pause=600.0)
    store.upsert(batch([point("d", at) for at in range(20)]))
    until_given_up(store)
    assert not store.carrying
    assert store.census(None) == {("d", 1): 20}
    store.close()


def test_a_full_disk_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Home, "has_room", lambda _: False)
    store = opened(tmp_path)
    store.upsert(batch([point("d", at) for at in range(20)]))
    store.go_on()
    assert not store.copying
    store.close()


def test_a_copy_is_the_same_and_keeps_its_holes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "empty").mkdir(parents=True)
    (source / "none").write_bytes(b"")
    (source / "deep" / "text").write_bytes(b"text" * 700_000)
    with (source / "holes").open("wb") as file:
        file.seek(5 << 20)
        file.write(b"x")
        file.truncate(64 << 20)
    edge_optimize.copy(source, tmp_path / "target")
    for path in source.rglob("*"):
        twin = tmp_path / "target" / path.relative_to(source)
        assert twin.is_dir() if path.is_dir() else twin.read_bytes() == path.read_bytes()
    assert (tmp_path / "target" / "holes").stat().st_blocks * 512 < 4 << 20


def test_what_the_process_does_can_be_done_in_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "nice", lambda _: 0)
    monkeypatch.setattr(edge_optimize, "die_with_parent", lambda: None)
    store = opened(tmp_path / "home")
    store.upsert(batch([point("d", at) for at in range(20)]))
    store.flush()
    edge_optimize.main(str(tmp_path / "home" / "1"), str(tmp_path / "home" / "2"))
    assert capsys.readouterr().out == "copied\n"
    store.close()
    Home(tmp_path / "home").make_current(tmp_path / "home" / "2", SPACE.dimensions)
    store = opened(tmp_path / "home")
    assert store.census(None) == {("d", 1): 20}
    store.close()


STARTS_ONE = """
import sys, time
from pathlib import Path
from unchunk.adapters.index.edge_optimize import Optimizing
optimizing = Optimizing(Path(sys.argv[1]), Path(sys.argv[2]))
while optimizing.state == "copying":
    time.sleep(0.001)
print(optimizing.pid, flush=True)
time.sleep(60)
"""


def test_the_process_dies_with_the_one_that_started_it(tmp_path: Path) -> None:
    # Large enough that it is stopped before it is done.
    store = opened(tmp_path, enough=10**6)
    for part in range(20):
        store.upsert(batch([point("d", part * 1000 + at) for at in range(1000)]))
    store.close()
    command = [sys.executable, "-c", STARTS_ONE, str(tmp_path / "1"), str(tmp_path / "2")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        os.kill(pid, signal.SIGSTOP)
        starter.kill()
    ended = ends(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    assert ended


def test_a_shard_is_searched_and_read_by_filters_and_ids(tmp_path: Path) -> None:
    store = opened(tmp_path)
    points = [point(name, folder=f"in {name}") for name in "abc"]
    store.upsert(batch([*points, point("d", terms=Terms((), ()))]))
    for within, wanted in (
        (Within("me", ("a", "c")), ["a", "c"]),
        (Within("me", None, ("in b",)), ["b"]),
        (Within("me", ("a", "b"), ("in b", "in c")), ["b"]),
    ):
        [hits] = store.search(pack_query(SEVEN, within, 9))
        assert sorted(hits.documents) == wanted
    there, rows = store.fetch(pack_ids([points[1].key, point("e").key, points[0].key]))
    assert there == [0, 2]
    assert np.frombuffer(rows, np.float32).tolist() == [*points[1].vector, *points[0].vector]
    store.delete("a", [2])
    store.delete("a", [1, 2])
    assert store.census(None) == {("b", 1): 1, ("c", 1): 1, ("d", 1): 1}
    store.close()


def test_a_shard_of_terms_alone_has_empty_vectors(tmp_path: Path) -> None:
    space = Space("words", 0)
    store = Store(tmp_path, 0, enough=5, quiet=0.0)
    store.upsert(pack([point("d", at) for at in range(9)], space))
    assert store.fetch(pack_ids([point("d").key])) == ([0], bytearray())
    until_swapped(store, tmp_path)
    assert len(found(store, SEVEN).scores) == 9
    store.close()
