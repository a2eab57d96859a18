"""The page's scripts where no browser is needed: their own tests, run by Node."""

import shutil
import subprocess
from pathlib import Path

import pytest

from unchunk.server.pages import FOLDER

NODE = shutil.which("node")
TESTS = Path(__file__).parent / "page"

needs_node = pytest.mark.skipif(NODE is None, reason="there is no `node` to run scripts with")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts with their tests beside them, where Node takes them for modules."""
    folder = tmp_path_factory.mktemp("page")
    for script in FOLDER.glob("*.js"):
        shutil.copy(script, folder)
    shutil.copytree(TESTS, folder / "tests")
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    return folder


@needs_node
@pytest.mark.parametrize("name", sorted(one.name for one in TESTS.glob("*.test.mjs")))
def test_the_scripts_pass_their_own_tests(name: str, scripts: Path) -> None:
    _run("--test", str(scripts / "tests" / name))


@needs_node
@pytest.mark.parametrize("name", sorted(one.name for one in FOLDER.glob("*.js")))
def test_every_script_can_be_read(name: str, scripts: Path) -> None:
    _run("--check", str(scripts / name))


def _run(*arguments: str) -> None:
    assert NODE is not None
    done = subprocess.run(
        [NODE, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
