"""A file from bytes, read in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from unchunk.adapters.extract.limits import Limits
from unchunk.adapters.extract.reading import read_file
from unchunk.domain import Extracted

Read = Callable[..., Extracted]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read_bytes(
        data: bytes | str, name: str = "file", limits: Limits | None = None
    ) -> Extracted:
        path = tmp_path / "upload"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        found = read_file(path, name, limits or Limits())
        for heading in found.headings:
            line = found.text[heading.at :].partition("\n")[0]
            assert heading.title.split()[0] in line
        assert list(found.pages) == sorted(found.pages)
        return found

    return read_bytes
