"""The folder of one space of the edge index, as plain files.

current.json     {"shard": 2, "dimensions": 384}; swapped whole, so a crash leaves one truth
2/               that shard; any other number is what a crash left
changes          about how many rows were written since the shard was optimized
"""

import json
import os
from contextlib import suppress
from io import FileIO
from pathlib import Path

_CURRENT = "current.json"
_CHANGES = "changes"
_BLOCK = 1 << 20


class Home:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def dimensions(self) -> int | None:
        """None where there is no space yet. Raises `ValueError` where the note is damaged."""
        note = self._note()
        return None if note is None else note["dimensions"]

    @property
    def shard(self) -> Path | None:
        note = self._note()
        return None if note is None else self.folder / str(note["shard"])

    def fresh(self) -> Path:
        """A path for a further shard."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / str(max(self._numbers(), default=0) + 1)

    def make_current(self, shard: Path, dimensions: int) -> None:
        """From now on, and after a power cut too, this is the shard."""
        temporary = self.folder / f"{_CURRENT}.new"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump({"shard": int(shard.name), "dimensions": dimensions}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.folder / _CURRENT)
        make_sure(self.folder)

    def tidy(self) -> None:
        """Remove every shard but the current one."""
        current = self.shard
        for number in self._numbers():
            if self.folder / str(number) != current:
                remove(self.folder / str(number))

    def note_changes(self, count: int) -> None:
        (self.folder / _CHANGES).write_text(str(count), "ascii")

    def changes(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self.folder / _CHANGES).read_text("ascii"))
        return None

    def has_room(self) -> bool:
        """Whether the disk can take what optimizing needs for a while."""
        size = sum(file.stat().st_blocks * 512 for file in self.folder.rglob("*"))
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize > 3 * size

    def read_ahead(self) -> None:
        """Read the current shard once, so that it is in memory, if half of that is enough.

        A search touches its files here and there, and pays for each place that it is the first to
        touch. Advice to the system is not enough: on a virtual machine the first touch costs even
        where the disk was read.
        """
        block = memoryview(bytearray(_BLOCK))
        with suppress(OSError, ValueError):
            files = [path for path in (self.shard or self.folder).rglob("*") if path.is_file()]
            if sum(path.stat().st_blocks * 512 for path in files) > _memory() // 2:
                return
            for path in files:
                with path.open("rb", buffering=0) as file:
                    _read(file, block)

    def _note(self) -> dict[str, int] | None:
        try:
            note = json.loads((self.folder / _CURRENT).read_text("utf-8"))
            return {"shard": int(note["shard"]), "dimensions": int(note["dimensions"])}
        except FileNotFoundError:
            return None
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self.folder / _CURRENT} is damaged") from error

    def _numbers(self) -> list[int]:
        return sorted(int(each.name) for each in self.folder.iterdir() if each.name.isdecimal())


def _read(file: FileIO, block: memoryview) -> None:
    """But for its holes: the engine reserves much that it does not use yet."""
    end, size = 0, os.fstat(file.fileno()).st_size
    while end < size:
        try:
            at = file.seek(end, os.SEEK_DATA)
        except OSError:  # there is nothing but a hole
            return
        end = file.seek(at, os.SEEK_HOLE)
        file.seek(at)
        while at < end:
            at += file.readinto(block[: end - at]) or end


def _memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def remove(shard: Path) -> None:
    """As far as that can be done."""
    from shutil import rmtree  # noqa: PLC0415 -- loads much, and is seldom needed

    rmtree(shard, ignore_errors=True)


def make_sure(path: Path) -> None:
    """What was written to a file or a folder outlives a power cut from here on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
