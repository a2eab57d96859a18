"""What the front door and the command line load before anything is asked of them."""

import subprocess
import sys
from pathlib import Path

import pytest

import unchunk
from unchunk import ports

HEAVY = ("fastapi", "numpy", "onnxruntime", "qdrant_edge", "sqlalchemy", "tokenizers")


@pytest.mark.parametrize(
    "what", ["import unchunk", "import unchunk.cli", "import unchunk.cli.main"]
)
def test_nothing_heavy_is_loaded_before_it_is_used(what: str) -> None:
    program = f"import sys\n{what}\nprint([one for one in {HEAVY} if one in sys.modules])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout.decode().strip() == "[]"


# What a search of a library in a file has no use for.
IDLE = (
    *("alembic", "openai", "pydantic", "sqlalchemy", "unchunk.chat.turn"),
    *("unchunk.adapters.sources", "unchunk.evaluation", "unchunk.library.archive"),
    *("unchunk.library.doctor", "unchunk.library.ingest", "unchunk.recovery", "unchunk.rescue"),
    *("unchunk.retrieval.retriever", "unchunk.retrieval.marking", "unchunk.stores"),
    *("unchunk.text.chunking", "unchunk.text.stitching", "unchunk.wiring.collections"),
    *("unchunk.ports.recovery", "unchunk.ports.sources", "unchunk.retrieval.words"),
    "unchunk.retrieval.evidence",
    *("difflib", "tomllib"),
)

# What the process of the index has no use for before something is written.
CHILD_IDLE = (
    "importlib.metadata",
    "numpy",
    "shutil",
    "unchunk.adapters.index.edge_optimize",
    "uuid",
)


def test_the_process_of_an_index_loads_nothing_that_it_does_not_use() -> None:
    room = Path(unchunk.__path__[0])
    program = f"""import sys, types
front = sys.modules["unchunk"] = types.ModuleType("unchunk")
front.__path__ = [{str(room)!r}]
import unchunk.adapters.index.edge_process
print([one for one in {CHILD_IDLE} if one in sys.modules])"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout.decode().strip() == "[]"


def test_a_search_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("The brig Alma sailed from Cork in May.")
    home, idle = tmp_path / "home", IDLE
    with unchunk.open(home, embedder="hashing") as library:
        library.add(tmp_path / "note.md")
    program = f"""import asyncio, sys, unchunk
async def ask():
    async with unchunk.open({str(home)!r}, embedder="hashing") as library:
        where = unchunk.Where(names=("note.md",))
        assert (await library.search("Where did the Alma sail from?", where=where)).hits
asyncio.run(ask())
print([one for one in {idle} if one in sys.modules])"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout.decode().strip() == "[]"


def test_every_port_is_found_and_no_other() -> None:
    named = {name for names in ports._ROOMS.values() for name in names.split()}
    assert named == set(ports.__all__)
    assert all(getattr(ports, name) is not None for name in ports.__all__)
    with pytest.raises(AttributeError, match="Indx"):
        getattr(ports, "Indx")  # noqa: B009 -- a name that is misspelled


def test_every_public_name_is_found_and_no_other() -> None:
    named = {name for names in unchunk._ROOMS.values() for name in names.split()}
    # A star import leaves Python's own `open` alone.
    assert named == {*unchunk.__all__, "open"} - {"__version__"}
    assert all(getattr(unchunk, name) is not None for name in named)
    with pytest.raises(AttributeError, match="opne"):
        getattr(unchunk, "opne")  # noqa: B009 -- a name that is misspelled


def test_the_rooms_that_programs_name_are_there() -> None:
    program = (
        "import unchunk\nassert issubclass(unchunk.errors.NotFoundError, unchunk.UnchunkError)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
