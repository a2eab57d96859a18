"""What the front door and the command line load before anything is asked of them."""

import subprocess
import sys

import pytest

import unchunk

HEAVY = ("fastapi", "numpy", "onnxruntime", "qdrant_edge", "sqlalchemy", "tokenizers")


@pytest.mark.parametrize(
    "what", ["import unchunk", "import unchunk.cli", "import unchunk.cli.main"]
)
def test_nothing_heavy_is_loaded_before_it_is_used(what: str) -> None:
    program = f"import sys\n{what}\nprint([one for one in {HEAVY} if one in sys.modules])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout.decode().strip() == "[]"


def test_every_public_name_is_found_and_no_other() -> None:
    named = {name for names in unchunk._ROOMS.values() for name in names.split()}
    assert named == set(unchunk.__all__) - {"__version__"}
    assert all(getattr(unchunk, name) is not None for name in unchunk.__all__)
    with pytest.raises(AttributeError, match="opne"):
        getattr(unchunk, "opne")  # noqa: B009 -- a name that is misspelled


def test_the_rooms_that_programs_name_are_there() -> None:
    program = (
        "import unchunk\nassert issubclass(unchunk.errors.NotFoundError, unchunk.UnchunkError)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
