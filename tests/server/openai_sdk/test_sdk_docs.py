"""What docs/openai.md and the README show of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.openai_sdk.clients import Place, placed

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("docs")) as place:
        yield place


def _run(page: str, place: Place) -> None:
    """The first example on a page that needs a server, beside one."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    [example, *_] = [one for one in blocks if "http://127.0.0.1:8000/v1" in one]
    assert len(example.strip().splitlines()) <= 10
    exec(example.replace("http://127.0.0.1:8000/v1", place.url), {})  # noqa: S102 - our own


def test_the_first_example_does_what_it_says(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    _run("docs/openai.md", place)
    assert "rules.md: A night in the harbour costs 22 euros." in capsys.readouterr().out


def test_the_example_of_the_readme_answers_from_the_file_it_uploads(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _run("README.md", place)
    assert "manned through the night" in capsys.readouterr().out
