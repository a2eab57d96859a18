"""The documents that a new library has in it to try: they come once, and go for good."""

import re
from pathlib import Path

import httpx2
import pytest

from homes import Home
from server.houses import PATIENCE, House, add, house
from server.scripted import eventually
from unchunk.engine import Engine
from unchunk.server import samples
from unchunk.server.options import Options

NAMES = sorted(path.name for path in samples.FILES.iterdir())


def options(folder: Path, *, require_keys: bool = False) -> Options:
    return Options(sample=True, upload_folder=folder / "uploads", require_keys=require_keys)


def documents(client: httpx2.Client, state: str = "live") -> list[str]:
    found = client.get("/api/documents", params={"state": state}).json()["documents"]
    return sorted(one["name"] for one in found)


def folders(client: httpx2.Client) -> dict[str, tuple[int, bool]]:
    found = client.get("/api/folders").json()["folders"]
    return {one["folder"]: (one["documents"], one["sample"]) for one in found}


def settle(it: House) -> None:
    """What a server does first is done, jobs and all."""
    jobs = it.served.app.state.house.jobs
    eventually(lambda: not any("begin" in task for task in it.served.tasks()), PATIENCE)
    eventually(lambda: not any(it.served.inside(jobs.counts).values()), PATIENCE)


def test_a_new_library_has_a_sample_that_goes_with_one_call_and_never_comes_again(
    tmp_path: Path,
) -> None:
    with house(tmp_path, options=options(tmp_path)) as it:
        client = it["local"]
        eventually(lambda: documents(client) == NAMES, PATIENCE)
        assert folders(client) == {"Sample": (len(NAMES), True)}
        jobs = client.get("/api/jobs").json()["jobs"]
        assert {one["kind"] for one in jobs} == {"upload"}
        assert sorted(one["name"] for one in jobs) == NAMES
        settle(it)
    with house(tmp_path, options=options(tmp_path)) as it:
        client = it["local"]
        settle(it)
        assert folders(client) == {"Sample": (len(NAMES), True)}
        known = {one["id"] for one in client.get("/api/jobs").json()["jobs"]}
        assert known == {one["id"] for one in jobs}, "no new one was begun"
        gone = client.delete("/api/folders?folder=Sample").json()
        assert (gone["deleted"], gone["clean"]) == (len(NAMES), True)
        # Whoever has a folder of that name now has made it.
        add(client, "mine.txt", "Something of mine.", folder="Sample")
        assert folders(client) == {"Sample": (1, False)}
        client.delete("/api/folders?folder=Sample")
    with house(tmp_path, options=options(tmp_path)) as it:
        settle(it)
        assert folders(it["local"]) == {}


def test_a_library_that_has_something_gets_none_also_when_it_is_empty_later(
    tmp_path: Path,
) -> None:
    with house(tmp_path) as it:
        document = add(it["local"], "mine.txt", "Something of mine.")
    for _ in range(2):
        with house(tmp_path, options=options(tmp_path)) as it:
            settle(it)
            assert "Sample" not in folders(it["local"])
            it["local"].delete(f"/api/documents/{document}")


def test_where_users_have_keys_there_is_none(tmp_path: Path) -> None:
    with house(tmp_path, "ann", options=options(tmp_path, require_keys=True)) as it:
        settle(it)
        assert folders(it["ann"]) == {}


def test_another_owner_sees_nothing_of_it_and_may_use_its_name(tmp_path: Path) -> None:
    with house(tmp_path, options=options(tmp_path)) as it:
        settle(it)
        assert folders(it["local"]) == {"Sample": (len(NAMES), True)}
    with house(tmp_path, "ann", "local") as it:
        add(it["ann"], "a.txt", "Something of Ann's.", folder="Sample")
        assert folders(it["ann"]) == {"Sample": (1, False)}
        assert it["ann"].delete("/api/folders?folder=Sample").json()["deleted"] == 1
        assert folders(it["local"]) == {"Sample": (len(NAMES), True)}


def test_a_sample_that_was_interrupted_comes_in_whole(tmp_path: Path) -> None:
    home = Home(tmp_path)
    first = samples.FILES / NAMES[0]

    async def begun(engine: Engine) -> None:
        await engine.note("sample", "begun")
        await engine.keep_file(first, first.name, folder=samples.FOLDER)

    home.run(begun)
    with house(tmp_path, options=options(tmp_path)) as it:
        eventually(lambda: documents(it["local"]) == NAMES, PATIENCE)


def test_a_sample_that_is_removed_while_it_comes_in_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Engine.keep_file

    async def removing(self: Engine, path: Path, name: str, *, folder: str, owner: str) -> object:
        kept = await keep(self, path, name, folder=folder, owner=owner)
        await samples.removed(self)
        return kept

    monkeypatch.setattr(Engine, "keep_file", removing)
    with house(tmp_path, options=options(tmp_path)) as it:
        settle(it)
        assert folders(it["local"]) == {}
        assert it["local"].get("/api/jobs").json() == {"jobs": []}


def test_a_sample_document_that_is_deleted_as_it_comes_in_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Engine.keep_file

    async def deleting(self: Engine, path: Path, name: str, *, folder: str, owner: str) -> object:
        kept = await keep(self, path, name, folder=folder, owner=owner)
        await samples.removed(self)
        await self.delete_folder(folder, owner=owner)
        return kept

    monkeypatch.setattr(Engine, "keep_file", deleting)
    with house(tmp_path, options=options(tmp_path)) as it:
        settle(it)
        assert folders(it["local"]) == {}
        assert it["local"].get("/api/jobs").json() == {"jobs": []}


def test_the_sample_shows_what_unchunk_does(tmp_path: Path) -> None:
    with house(tmp_path, options=options(tmp_path)) as it:
        client = it["local"]
        eventually(lambda: documents(client) == NAMES, PATIENCE)
        rows = client.get("/api/documents").json()["documents"]
        assert 3 <= len(rows) <= 5
        # Long enough that answers leave something out.
        assert max(one["chunk_count"] for one in rows) >= 25
        [pdf] = [one for one in rows if one["content_type"] == "application/pdf"]
        assert pdf["page_count"] >= 3
        outline = client.get(f"/api/documents/{pdf['id']}/outline").json()
        assert outline["has_pages_to_see"] is True
        assert client.get(f"/api/documents/{pdf['id']}/pages/2?width=300").status_code == 200
        assert not [one["notes"] for one in rows if one["notes"]]
        texts = [client.get(f"/api/documents/{one['id']}/text").json()["text"] for one in rows]
        assert any(re.search(r"^\|---", text, re.MULTILINE) for text in texts)
        assert any(text.count("\n## ") > 5 for text in texts)


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in samples.FILES.iterdir()) < 60_000
