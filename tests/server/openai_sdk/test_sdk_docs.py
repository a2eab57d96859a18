"""What docs/openai.md and the README show of it."""

import re
import subprocess
import sys
from pathlib import Path

from server.openai_sdk.clients import placed

ROOT = Path(__file__).parents[3]


def _printed_by(page: str, home: Path) -> str:
    """What the first example on a page that needs a server prints, run beside one."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    [example, *_] = [one for one in blocks if "http://127.0.0.1:8000/v1" in one]
    assert len(example.strip().splitlines()) <= 10
    with placed(home) as place:
        here = example.replace("http://127.0.0.1:8000/v1", place.url)
        done = subprocess.run(
            [sys.executable, "-c", here], capture_output=True, text=True, check=False, cwd=ROOT
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_example_does_what_it_says(tmp_path: Path) -> None:
    printed = _printed_by("docs/openai.md", tmp_path)
    assert "rules.md: A night in the harbour costs 22 euros." in printed


def test_the_example_of_the_readme_answers_from_the_file_it_uploads(tmp_path: Path) -> None:
    assert "manned through the night" in _printed_by("README.md", tmp_path)
