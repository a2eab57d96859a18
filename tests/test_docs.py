"""The docs name what there is."""

import re
import runpy
import subprocess
import sys
from dataclasses import fields
from itertools import product
from pathlib import Path

import click
import pytest
from fastapi.routing import iter_route_contexts

from unchunk.cli import main
from unchunk.server.openai import routing as openai
from unchunk.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"


def test_every_option_of_every_command_is_in_the_docs() -> None:
    page = (DOCS / "commands.md").read_text("utf-8")
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        assert f"unchunk {name}" in page
        parts = command.commands.items() if isinstance(command, click.Group) else ()
        for part, _ in parts:
            assert f"`{part}" in page
        for parameter in command.params:
            assert all(option in page for option in parameter.opts if option.startswith("--"))


def test_every_setting_is_in_the_docs() -> None:
    page = (DOCS / "settings.md").read_text("utf-8")
    for field in fields(Settings):
        assert field.name == "home" or f"`{field.name}`" in page


def test_every_route_of_openais_api_is_in_the_docs() -> None:
    page = (DOCS / "openai.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    known = {(method, path) for row in rows for method, path in product(*_named(row.split("|")[1]))}
    routes = {
        (method, re.sub(r":\w+\}", "}", one.path or ""))
        for one in iter_route_contexts(openai.router.routes)
        for method in one.methods or ()
    }
    assert routes == known


def _named(cell: str) -> tuple[list[str], list[str]]:
    """The methods and the path of a row."""
    *methods, path = re.findall(r"`([^`]+)`", cell)
    return methods, [path]


def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = DOCS.parent
    (tmp_path / "examples").symlink_to(root / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    # The last one needs a server, and is tried beside one with the official SDK's other tests.
    for block in blocks[:-1]:
        done = subprocess.run(
            [sys.executable, "-c", block], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_the_pages_that_are_made_from_the_program_are_as_it_is() -> None:
    for page, content in runpy.run_path(str(DOCS / "generate.py"))["pages"]().items():
        assert page.read_text("utf-8") == content, f"{page.name} is old: run `make docs`"
