from pathlib import Path

import pytest

from homes import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)
