"""Environments are made once, and one that cannot be made says why. None needs the network."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench import environments

Wanted = Callable[[str], None]


@pytest.fixture(name="wanted")
def _wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wanted:
    """The requirement file of a peer, from which pip may take nothing but what is nowhere."""
    files = tmp_path / "peers"
    files.mkdir()
    monkeypatch.setattr(environments, "FILES", files)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")

    def write(text: str) -> None:
        (files / "peer.txt").write_text(text, "utf-8")

    return write


def test_an_environment_is_made_once_and_kept(tmp_path: Path, wanted: Wanted) -> None:
    wanted("# nothing\n")
    said: list[str] = []

    first = environments.make(tmp_path / "cache", ["peer"], said.append)
    second = environments.make(tmp_path / "cache", ["peer"], said.append)

    assert Path(first.pythons["peer"]).exists()
    assert first == second
    assert len(said) == 1


def test_one_that_cannot_be_installed_is_absent_with_its_reason(
    tmp_path: Path, wanted: Wanted
) -> None:
    wanted("nowhere-to-be-had==1.0\n")

    made = environments.make(tmp_path / "cache", ["peer"], lambda _: None)

    assert not made.pythons
    assert "nowhere-to-be-had==1.0" in made.absent["peer"]
    assert str(tmp_path) not in made.absent["peer"]


def test_paragraphs_are_installed_one_by_one() -> None:
    text = "# first\ntorch==2\n\n# without what it asks for\na==1\nb==2  # why\n\n# only words\n"

    first, second = environments.paragraphs(text)

    assert environments.pins(first) == {"torch": "2"}
    assert environments.pins(second) == {"a": "1", "b": "2"}
    assert second.startswith(environments.ALONE)


@pytest.mark.parametrize("name", environments.names())
def test_every_requirement_is_pinned_and_names_no_registry(name: str) -> None:
    text = (environments.FILES / f"{name}.txt").read_text("utf-8")

    assert all(environments.pins(text).values())
    assert "://" not in text
    assert "--" not in text


def test_versions_are_those_that_are_there() -> None:
    found = environments.installed(sys.executable, ["PyTest", "nowhere-to-be-had"])

    assert found == {"PyTest": pytest.__version__, "nowhere-to-be-had": ""}
