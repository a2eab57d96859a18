"""The commands on keys, as people and scripts run them; a server may run meanwhile."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from cli.terminals import ESCAPES, OURS, STEERING, json_of, piped, shown
from unchunk.cli import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNCHUNK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UNCHUNK_EMBEDDER", "hashing")
    return tmp_path / "home"


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, (result.output, result.exception)
    return result


def run_json(*arguments: str) -> Any:  # noqa: ANN401 - what JSON holds
    return json_of(run(*arguments, "--json").stdout)


def test_a_key_is_made_listed_and_revoked() -> None:
    assert "`unchunk keys new NAME` makes one" in run("keys", "ls").stdout
    first, said = run("keys", "new", "laptop").stdout.splitlines()
    assert re.fullmatch(r"uk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", first)
    assert said == (
        "This is the key laptop, for the documents of laptop. Keep it: it is not shown again."
    )
    second = run_json("keys", "new", "a phone", "--owner", "anna")
    assert second["key"].startswith(f"uk_{second['id']}_")
    assert (second["owner"], second["name"], second["scope"]) == ("anna", "a phone", "all")
    assert run_json("keys", "new", "prometheus", "--metrics")["scope"] == "metrics"
    heading, *rows = run("keys", "ls").stdout.splitlines()
    assert re.split(r"  +", heading) == ["id", "owner", "good for", "made", "last used", "name"]
    assert [re.split(r"  +", row)[1:3] for row in rows] == [
        ["laptop", "all"],
        ["anna", "all"],
        ["prometheus", "metrics"],
    ]
    listed = run("keys", "ls", "--json").stdout
    assert [one["name"] for one in json.loads(listed)["keys"]] == [
        "laptop",
        "a phone",
        "prometheus",
    ]
    for key in (first, second["key"]):
        assert key.split("_", 2)[2] not in listed
    assert "digest" not in listed
    assert run("keys", "revoke", second["id"]).stdout == (
        f"revoked {second['id']}, the key a phone of anna\n"
    )
    run("keys", "revoke", second["id"], status=1)
    assert len(run_json("keys", "ls")["keys"]) == 2


@pytest.mark.parametrize("owner", ["", "a/b", "..", "a\nb"])
def test_an_owner_that_cannot_be_is_refused(owner: str) -> None:
    assert "owner" in run("keys", "new", "x", "--owner", owner, status=1).stderr
    assert run_json("keys", "ls") == {"keys": []}


def test_a_key_with_a_hostile_name_does_not_steer_the_screen(home: Path) -> None:
    run("keys", "new", ESCAPES, status=1)
    run("keys", "new", "\u202egnp.exe", status=1)
    run("keys", "new", "plain")
    assert not STEERING.search(OURS.sub("", shown("keys", "ls", home=home)))


def test_an_export_takes_no_keys_along(home: Path, tmp_path: Path) -> None:
    key = run_json("keys", "new", "the name of the key", "--owner", "its-owner")["key"]
    (tmp_path / "a.md").write_text("Some text to export.")
    run("add", str(tmp_path / "a.md"))
    archive = tmp_path / "all.zip"
    run("export", str(archive))
    with zipfile.ZipFile(archive) as opened:
        content = b"".join(opened.read(name) for name in opened.namelist())
    assert b"Some text to export." in content
    for hidden in (key.split("_")[1], key.split("_", 2)[2], "the name of the key", "its-owner"):
        assert hidden.encode() not in content
    assert (home / "catalog.sqlite").exists()
    other = tmp_path / "other"
    run("--home", str(other), "import", str(archive))
    assert run_json("--home", str(other), "keys", "ls") == {"keys": []}


def test_keys_come_and_go_while_a_server_runs(home: Path) -> None:
    settings = {"UNCHUNK_REQUIRE_KEYS": "true"}
    with piped("serve", "--port", "0", home=home, settings=settings) as server:
        url = re.search(r"at (http://\S+);", server.wait_for("Ctrl-C ends it"))
        assert url is not None
        assert "`unchunk keys new NAME` makes one" in server.said
        with httpx2.Client(base_url=url[1], timeout=60) as client:
            assert client.get("/api/conversations").status_code == 401
            key = run_json("keys", "new", "laptop")
            headers = {"Authorization": f"Bearer {key['key']}"}
            assert client.get("/api/conversations", headers=headers).status_code == 200
            [used] = run_json("keys", "ls")["keys"]
            assert used["used_on"] is not None
            run("keys", "revoke", key["id"])
            assert client.get("/api/conversations", headers=headers).status_code == 401
        server.interrupt()
        assert server.ended() == 0


def test_a_server_for_others_starts_only_where_there_is_a_key(home: Path) -> None:
    arguments = ("serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - what is tried
    with piped(*arguments, home=home) as server:
        assert server.ended() == 1
        assert "`unchunk keys new NAME`" in server.complained
    key = run_json("keys", "new", "laptop")["key"]
    with piped(*arguments, home=home) as server:
        url = re.search(r"at http://0\.0\.0\.0:(\d+);", server.wait_for("Ctrl-C ends it"))
        assert url is not None
        route = f"http://127.0.0.1:{url[1]}/api/conversations"
        assert httpx2.get(route).status_code == 401
        assert httpx2.get(route, headers={"X-API-Key": key}).status_code == 200
        server.interrupt()
        assert server.ended() == 0


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SESSION_HOURS", "0", "session_hours must be more than 0"),
        ("RATE_LIMIT", "-1", "rate_limit must not be less than 0"),
        ("MAX_UPLOADS", "0", "max_uploads must be more than 0"),
        ("HOSTS", "https://notes.example", "not a host name"),
        ("HOSTS", "notes.example:443", "not a host name"),
        ("HOSTS", "abc:80", "not a host name"),
        ("BEHIND_PROXY", "perhaps", "behind_proxy must be true or false"),
    ],
)
def test_a_setting_of_a_server_that_cannot_be_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"UNCHUNK_{name}", value)
    assert says in run("serve", "--port", "0", status=1).stderr
