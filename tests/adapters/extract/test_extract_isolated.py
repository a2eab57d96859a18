"""The extractor of the product: real workers, real files, hostile files."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import pytest

from adapters.extract import making
from corpus import DATA, MISSING
from unchunk.adapters.extract import process
from unchunk.adapters.extract.isolated import IsolatedExtractor
from unchunk.adapters.extract.limits import Limits, MiB
from unchunk.domain import Extracted
from unchunk.errors import ExtractionError, InvalidSettingError
from unchunk.ports import Extractor

T = TypeVar("T")
BIG_PDF = making.pdf("Words and more words" for _ in range(20_000))
DEEP_PAGE = b"<!DOCTYPE html><body>" + b"<div>" * 300_000  # takes a parser minutes


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], Path]:
    count = 0

    def write(data: bytes) -> Path:
        nonlocal count
        count += 1
        path = tmp_path / f"upload-{count}"
        path.write_bytes(data)
        return path

    return write


def run(
    work: Callable[[IsolatedExtractor], Awaitable[T]],
    limits: Limits | None = None,
    workers: int = 1,
) -> T:
    async def use() -> T:
        extractor = IsolatedExtractor(limits, workers)
        try:
            return await work(extractor)
        finally:
            await extractor.close()

    return asyncio.run(use())


async def outcome(extractor: Extractor, path: Path, name: str) -> Extracted | ExtractionError:
    try:
        return await extractor.extract(path, name)
    except ExtractionError as error:
        return error


def code(found: Extracted | ExtractionError) -> str:
    return found.code if isinstance(found, ExtractionError) else "read"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that has ended and that nobody has waited for is not alive.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(pid: int, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def wait_until_busy(extractor: IsolatedExtractor) -> None:
    while extractor.pids():
        time.sleep(0.01)


@pytest.mark.skipif(not DATA.exists(), reason=MISSING)
def test_every_sample_comes_in_or_fails_with_its_reason() -> None:
    paths = [
        path
        for folder in ("pdf_samples", "office_samples", "encodings")
        for path in sorted((DATA / folder).rglob("*"))
        if path.is_file()
    ]

    async def all_of_them(extractor: IsolatedExtractor) -> list[Extracted | ExtractionError]:
        return await asyncio.gather(*(outcome(extractor, path, path.name) for path in paths))

    found = run(all_of_them, workers=2)
    codes = [code(each) for each in found]
    assert len(paths) > 600
    assert set(codes) <= {"read", "empty", "image-only", "encrypted", "unsupported", "damaged"}
    assert codes.count("read") >= 613
    for each in found:
        if isinstance(each, Extracted):
            assert each.text.strip()
            assert each.text.encode()
            assert all(0 <= at <= len(each.text) for at in each.pages)
    failed = {path.name: got for path, got in zip(paths, codes, strict=True) if got == "damaged"}
    assert failed == {"nasty.odt": "damaged"}  # it tries to read a file of its reader


@pytest.mark.skipif(not DATA.exists(), reason=MISSING)
def test_real_reports_come_in_with_their_pages() -> None:
    path = DATA / "financebench" / "pdfs" / "FOOTLOCKER_2022_8K_dated-2022-05-20.pdf"
    found = run(lambda extractor: extractor.extract(path, path.name))
    assert found.media_type == "application/pdf"
    assert len(found.pages) >= 3
    assert "Foot Locker" in found.text


def test_workers_are_started_when_needed_kept_and_ended(file: Callable[[bytes], Path]) -> None:
    async def work(extractor: IsolatedExtractor) -> list[int]:
        assert extractor.pids() == []
        await extractor.extract(file(b"one"), "a.txt")
        first = extractor.pids()
        await extractor.extract(file(b"two"), "b.txt")
        assert extractor.pids() == first
        return first

    (pid,) = run(work)
    assert gone(pid)


def test_another_worker_is_started_only_where_one_stays_busy(file: Callable[[bytes], Path]) -> None:
    async def work(extractor: IsolatedExtractor) -> None:
        await extractor.extract(file(b"one"), "a.txt")
        first = extractor.pids()
        await asyncio.gather(*(extractor.extract(file(b"some"), "b.txt") for _ in range(20)))
        assert extractor.pids() == first
        slow = asyncio.create_task(outcome(extractor, file(DEEP_PAGE), "deep.html"))
        await asyncio.sleep(0.1)
        await extractor.extract(file(b"quick"), "c.txt")
        assert not slow.done()
        assert extractor.pids() not in ([], first)
        slow.cancel()

    run(work, workers=2)


def test_a_size_is_refused_without_reading(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(64 * 1024**3)

    async def work(extractor: IsolatedExtractor) -> None:
        begun = time.process_time()
        assert code(await outcome(extractor, path, "a.txt")) == "too-big"
        assert time.process_time() - begun < 1
        assert extractor.pids() == []

    run(work)


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    async def work(extractor: IsolatedExtractor) -> None:
        for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing", Path("a\0b")):
            found = await outcome(extractor, path, "a.txt")
            assert code(found) == "unreadable"
            assert str(tmp_path) not in str(found)

    run(work)


def test_a_file_that_takes_too_long_costs_only_itself(file: Callable[[bytes], Path]) -> None:
    async def work(extractor: IsolatedExtractor) -> None:
        await extractor.extract(file(b"warm"), "a.txt")
        (pid,) = extractor.pids()
        slow = outcome(extractor, file(DEEP_PAGE), "deep.html")
        good = outcome(extractor, file(b"Words"), "a.txt")
        found = await asyncio.gather(slow, good)
        assert [code(each) for each in found] == ["too-slow", "read"]
        assert "5 seconds: raise extract_seconds" in str(found[0])
        assert gone(pid)
        assert extractor.pids() != [pid]

    run(work, Limits(seconds=5))


def test_a_large_pdf_does_not_get_more_time_than_there_is(file: Callable[[bytes], Path]) -> None:
    path = file(BIG_PDF)

    async def work(extractor: IsolatedExtractor) -> None:
        assert code(await outcome(extractor, path, "a.pdf")) == "too-slow"

    run(work, Limits(seconds=0.1))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"words of a long text\n" * 3_000_000, "a.txt"),
        (b"<!DOCTYPE html><p>" + b"<b>x</b>" * 600_000, "a.html"),
        (
            making.xlsx(
                {
                    "S": '<row r="1"><c r="A1"><v>1</v></c></row>'
                    '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
                }
            ),
            "a.xlsx",
        ),
    ],
    ids=["python", "c", "rust"],
)
def test_a_file_that_needs_too_much_memory_costs_only_itself(
    file: Callable[[bytes], Path], data: bytes, name: str
) -> None:
    async def work(extractor: IsolatedExtractor) -> None:
        found = await outcome(extractor, file(data), name)
        assert code(found) == "too-much-memory"
        assert "raise extract_memory" in str(found)
        assert code(await outcome(extractor, file(b"Words"), "a.txt")) == "read"

    run(work, Limits(memory=128 * MiB))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_worker_that_dies_at_work_fails_one_file(
    file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    asked, receive = threading.Event(), process.Worker._receive

    def watched(worker: process.Worker, deadline: float) -> tuple[dict[str, object], bytes]:
        asked.set()
        return receive(worker, deadline)

    async def work(extractor: IsolatedExtractor) -> None:
        await extractor.extract(file(b"warm"), "a.txt")
        (pid,) = extractor.pids()
        monkeypatch.setattr(process.Worker, "_receive", watched)
        job = asyncio.create_task(outcome(extractor, file(DEEP_PAGE), "deep.html"))
        await asyncio.to_thread(asked.wait)
        os.kill(pid, number)
        found = await job
        assert code(found) == "crashed"
        assert number.name in str(found)
        assert code(await outcome(extractor, file(b"Words"), "a.txt")) == "read"

    run(work)


def test_a_worker_that_died_while_it_waited_fails_no_file(file: Callable[[bytes], Path]) -> None:
    async def work(extractor: IsolatedExtractor) -> None:
        await extractor.extract(file(b"warm"), "a.txt")
        (pid,) = extractor.pids()
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        assert code(await outcome(extractor, file(b"Words"), "a.txt")) == "read"

    run(work)


def test_cancelling_kills_the_worker_and_the_next_file_gets_another(
    file: Callable[[bytes], Path],
) -> None:
    async def work(extractor: IsolatedExtractor) -> None:
        await extractor.extract(file(b"warm"), "a.txt")
        (pid,) = extractor.pids()
        job = asyncio.create_task(extractor.extract(file(DEEP_PAGE), "deep.html"))
        await asyncio.to_thread(wait_until_busy, extractor)
        waiting = asyncio.create_task(extractor.extract(file(b"never"), "a.txt"))
        await asyncio.sleep(0.05)
        for task in (waiting, job):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await asyncio.to_thread(gone, pid)
        found = await extractor.extract(file(b"Words"), "a.txt")
        assert found.text == "Words"

    run(work)


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.05])
def test_cancelling_while_a_worker_starts(file: Callable[[bytes], Path], seconds: float) -> None:
    async def work(extractor: IsolatedExtractor) -> None:
        job = asyncio.create_task(extractor.extract(file(DEEP_PAGE), "deep.html"))
        await asyncio.sleep(seconds)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert (await extractor.extract(file(b"Words"), "a.txt")).text == "Words"

    run(work)


def test_closing_ends_workers_at_work(file: Callable[[bytes], Path]) -> None:
    async def work() -> int:
        extractor = IsolatedExtractor(workers=1)
        await extractor.extract(file(b"warm"), "a.txt")
        (pid,) = extractor.pids()
        job = asyncio.create_task(outcome(extractor, file(DEEP_PAGE), "deep.html"))
        await asyncio.to_thread(wait_until_busy, extractor)
        queued = asyncio.create_task(outcome(extractor, file(b"Words"), "a.txt"))
        await asyncio.sleep(0.05)
        await extractor.close()
        for task in (job, queued):
            with pytest.raises(asyncio.CancelledError):
                await task
        return pid

    assert gone(asyncio.run(work()))


def test_workers_die_with_an_owner_that_is_killed(file: Callable[[bytes], Path]) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from unchunk.adapters.extract.isolated import IsolatedExtractor\n"
        "async def main():\n"
        "    extractor = IsolatedExtractor(workers=2)\n"
        "    one, two = map(Path, sys.argv[1:])\n"
        "    await asyncio.gather(*(extractor.extract(one, 'a.txt') for _ in range(20)))\n"
        "    print(*extractor.pids(), flush=True)\n"
        "    await extractor.extract(two, 'deep.html')\n"
        "asyncio.run(main())\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script, str(file(b"Words")), str(file(DEEP_PAGE))],
        stdout=subprocess.PIPE,
    )
    assert owner.stdout is not None
    with owner.stdout:
        pids = [int(pid) for pid in owner.stdout.readline().split()]
    time.sleep(0.3)
    owner.kill()
    owner.wait()
    assert pids
    assert all(map(gone, pids))


def test_a_parser_sees_nothing_of_the_owners_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNCHUNK_TEST_SECRET", "a key")
    worker = process.Worker(Limits())
    try:
        worker.start()
        if sys.platform == "linux":
            seen = Path(f"/proc/{worker.pid}/environ").read_bytes()
            assert b"UNCHUNK_TEST_SECRET" not in seen
            assert b"PATH=" in seen
    finally:
        worker.stop()


def test_a_worker_that_does_not_start_says_why(
    file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_START", "import no_such_module")

    async def work(extractor: IsolatedExtractor) -> None:
        found = await outcome(extractor, file(b"Words"), "a.txt")
        assert code(found) == "crashed"
        assert "no_such_module" in str(found)

    run(work)


def take_over(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put another program in the place of the worker: one that a file has taken over."""
    begin = (
        "import os, resource, struct, sys, time\n"
        "def say(head, body=b''):\n"
        "    os.write(1, struct.pack('>IQ', len(head), len(body)) + head + body)\n"
        "held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "say(b'{\"held\": %d}' % held)\n"
    )
    monkeypatch.setattr(process, "_START", begin + script)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("say(b'[]')", "crashed"),
        ("say(b'{}', b'x')", "crashed"),
        ("os.write(1, b'\\xff' * 12); time.sleep(60)", "crashed"),
        ("sys.exit(3)", "crashed"),
        ("os.write(2, b'memory allocation of 9 bytes failed'); os.abort()", "too-much-memory"),
        ("import signal; os.kill(os.getpid(), signal.SIGXCPU); time.sleep(60)", "too-slow"),
        ("x = bytearray(held + 80_000_000); os.abort()", "too-much-memory"),
        ("say(b'{'); time.sleep(60)", "crashed"),
        ("os.write(1, b'half'); time.sleep(60)", "too-slow"),
    ],
)
def test_a_worker_that_was_taken_over_is_not_believed(
    file: Callable[[bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    expected: str,
) -> None:
    take_over(monkeypatch, f"os.read(0, 12)\n{script}")

    async def work(extractor: IsolatedExtractor) -> None:
        assert code(await outcome(extractor, file(b"Words"), "a.txt")) == expected

    # A process that ends by itself may take its time on a busy machine.
    run(work, Limits(seconds=3 if expected == "too-slow" else 60, memory=100 * MiB))


def test_workers_that_never_stay_alive_are_given_up(
    file: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    take_over(monkeypatch, "os.close(0)")

    async def work(extractor: IsolatedExtractor) -> None:
        assert code(await outcome(extractor, file(b"Words"), "a.txt")) == "crashed"

    run(work)


def test_a_worker_that_will_not_stop_is_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_SECONDS_TO_STOP", 0.1)
    take_over(monkeypatch, "time.sleep(60)")
    worker = process.Worker(Limits())
    worker.start()
    worker.stop()
    assert gone(worker.pid)


def test_one_extractor_serves_several_event_loops(file: Callable[[bytes], Path]) -> None:
    extractor = IsolatedExtractor(workers=1)
    paths = [file(b"one"), file(b"two")]

    def once(work: Coroutine[object, object, T]) -> T:
        return asyncio.run(work)

    assert once(extractor.extract(paths[0], "a.txt")).text == "one"
    assert once(extractor.extract(paths[1], "a.txt")).text == "two"
    once(extractor.close())
    once(extractor.close())


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(InvalidSettingError, match="workers must be at least 1"):
        IsolatedExtractor(workers=0)


@pytest.mark.parametrize(
    "name", ["../../x.txt", "a\0b.txt", "n" * 300 + ".txt", "\udcff.txt", "n" * 10**6]
)
def test_a_name_is_only_a_label(file: Callable[[bytes], Path], name: str) -> None:
    path = file(b"Words")
    assert run(lambda extractor: extractor.extract(path, name)).text == "Words"


def test_files_with_random_damage_never_do_more_than_fail(file: Callable[[bytes], Path]) -> None:
    rng = random.Random(7)
    seeds = {
        "a.pdf": making.pdf(["Some words", "More words"]),
        "a.docx": making.docx(making.paragraph("Some words") * 20),
        "a.pptx": making.pptx([making.shape("Some words")]),
        "a.xlsx": making.xlsx({"S": '<row r="1"><c r="A1"><v>1</v></c></row>'}),
        "a.odt": making.opendocument("text", "<office:text><text:p>Words</text:p></office:text>"),
        "a.epub": making.epub({"one": "<p>Words</p>"}),
        "a.xls": making.ole("Workbook"),
        "a.rtf": rb"{\rtf1\ansi Some \b words\b0 \'e9}",
        "a.eml": b"From: a@b\nTo: c@d\nSubject: Hi\n\nWords\n",
        "a.html": b"<!DOCTYPE html><p>Some <b>words</b>",
    }
    broken = []
    for name, seed in seeds.items():
        for _ in range(30):
            data = bytearray(seed)
            for _ in range(rng.randint(1, 8)):
                place = rng.randrange(len(data))
                data[place : place + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
            broken.append((name, file(bytes(data))))

    async def all_of_them(extractor: IsolatedExtractor) -> list[Extracted | ExtractionError]:
        return await asyncio.gather(*(outcome(extractor, path, name) for name, path in broken))

    found = run(all_of_them, Limits(memory=512 * MiB), workers=2)
    assert "crashed" not in {code(each) for each in found}
