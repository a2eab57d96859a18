"""Files and names out of the ordinary: they come in, or it is said why they do not."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from homes import Home
from unchunk.cli import main
from unchunk.engine import Engine
from unchunk.errors import InvalidInputError
from unchunk.library.ingest import Outcome

TEXT = "# Title\n\nSome words that are worth keeping."


def results(outcomes: list[Outcome]) -> dict[str, str]:
    return {one.name: one.result for one in outcomes}


@pytest.mark.parametrize("content", [TEXT, f"{TEXT} And more."])
def test_two_files_of_one_name_are_refused_and_none_of_them_comes_in(
    home: Home, content: str
) -> None:
    first, second = home.file("one/README.md", TEXT), home.file("two/README.md", content)
    home.file("two/other.md", TEXT)

    async def work(engine: Engine) -> None:
        with pytest.raises(InvalidInputError) as caught:
            await engine.add(first.parent, second.parent)
        assert str(first) in str(caught.value)
        assert str(second) in str(caught.value)
        assert "--folder" in str(caught.value)
        assert await engine.documents() == []
        assert results(await engine.add(first.parent, first)) == {"README.md": "added"}

    home.run(work)


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u202f", "\u200c"])
def test_blanks_of_other_scripts_are_part_of_a_name(home: Home, blank: str) -> None:
    name = f"screen{blank}shot.md"
    home.file(name, TEXT)

    async def work(engine: Engine) -> None:
        assert results(await engine.add(home.files)) == {name: "added"}
        assert await engine.text(name) == TEXT

    home.run(work)


def test_a_ring_of_links_fails_alone_and_says_so(home: Home) -> None:
    home.file("a.md", TEXT)
    (home.files / "one.md").symlink_to("two.md")
    (home.files / "two.md").symlink_to("one.md")

    async def work(engine: Engine) -> None:
        outcomes = {one.name: one for one in await engine.add(home.files)}
        assert outcomes.pop("a.md").result == "added"
        assert outcomes.keys() == {"one.md", "two.md"}
        assert {one.error_code for one in outcomes.values()} == {"unreadable"}
        [alone] = await engine.add(home.files / "one.md")
        assert (alone.result, alone.error_code) == ("failed", "unreadable")
        assert "symbolic links" in alone.error

    home.run(work)


def test_a_path_that_no_file_system_takes_is_an_error_in_a_line(home: Home) -> None:
    async def work(engine: Engine) -> None:
        with pytest.raises(InvalidInputError, match="xxx: File name too long"):
            await engine.add("x" * 300)
        with pytest.raises(InvalidInputError, match="no such file"):
            await engine.add("nul\0.md")
        assert await engine.documents() == []

    home.run(work)


def test_the_names_of_a_pattern_do_not_depend_on_what_else_it_finds(home: Home) -> None:
    home.file("docs/a/x.md", TEXT)
    pattern = f"{home.files}/docs/**/*.md"

    async def work(engine: Engine) -> None:
        assert results(await engine.add(pattern)) == {"a/x.md": "added"}
        home.file("docs/b/y.md", f"{TEXT} Of y.")
        home.file("docs/z.md", f"{TEXT} Of z.")
        assert results(await engine.add(pattern)) == {
            "a/x.md": "unchanged",
            "b/y.md": "added",
            "z.md": "added",
        }

    home.run(work)


def test_a_library_inside_the_folder_that_is_added_is_left_out(home: Home) -> None:
    home.file("a.md", TEXT)
    home.folder = home.files / "library"
    for result in ("added", "unchanged"):
        outcomes = home.run(lambda engine: engine.add(home.files))
        assert results(outcomes) == {"a.md": result}
    assert len(list(home.folder.glob("uploads/local/*/*"))) == 1


@pytest.mark.parametrize("index", ["edge", "chroma"])
def test_what_lies_in_the_home_beside_the_library_is_added_and_the_library_is_not(
    home: Home, index: str
) -> None:
    home.folder = home.files
    home.file("unchunk.toml", "max_pages = 1000\n")
    home.file("models/model.txt", TEXT)
    path = home.file("docs/a.md", TEXT)
    home.file("index.md", f"{TEXT} Of the index.")

    async def work(engine: Engine) -> None:
        assert results(await engine.add(path.parent)) == {"a.md": "added"}
        assert results(await engine.add(path)) == {"a.md": "unchanged"}
        await engine.search("words")
        assert results(await engine.add(home.folder)) == {
            "docs/a.md": "linked",
            "index.md": "added",
        }

    home.run(work, index=index)


def test_a_folder_that_was_in_use_before_it_became_a_home_loses_nothing(home: Home) -> None:
    home.folder = home.files
    path = home.file("incoming/letters/a.md", TEXT)
    home.run(lambda engine: engine.documents())
    assert path.read_text() == TEXT


def test_a_wrong_name_among_those_to_delete_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("UNCHUNK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")
    home = Home(tmp_path)
    home.file("a.md", TEXT)
    home.file("b.md", f"{TEXT} Of b.")

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["--home", str(home.folder), *arguments])
        return done.exit_code, done.output

    assert run("add", str(home.files))[0] == 0
    status, said = run("rm", "a.md", "nothing.md")
    assert (status, "there is no document 'nothing.md'" in said) == (1, True)
    assert [name in run("ls")[1] for name in ("a.md", "b.md")] == [True, True]
    status, said = run("rm", "a.md", "a.md")
    assert (status, said.count("deleted a.md")) == (0, 1)
    assert [name in run("ls")[1] for name in ("a.md", "b.md")] == [False, True]
