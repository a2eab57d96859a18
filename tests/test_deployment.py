"""The files that unchunk is deployed with name what there is, and keep to what the docs promise."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, cast

import click
import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own

from unchunk.cli import main
from unchunk.engine import Engine
from unchunk.server.app import create_app
from unchunk.settings import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "deployment.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SETTINGS = {f"UNCHUNK_{field.name.upper()}" for field in fields(Settings)}


def instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile, each with what follows it on one line."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    lines = [line.strip().partition(" ") for line in text.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in lines]


def said(name: str) -> list[str]:
    return [rest for known, rest in instructions() if known == name]


def blocks(kind: str) -> list[str]:
    """The examples of the page in one language."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def check_command(arguments: list[str]) -> None:
    """As the command line would read it, without doing anything."""
    command: click.Command | None = main
    context = main.make_context("unchunk", arguments)
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert command is not None
        # Raises for an option that there is not, or an argument that is missing.
        context = command.make_context(name, rest, parent=context)


def ignored(path: str) -> bool:
    """Whether it stays out of what the image is built from; the last line that fits decides."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    result = False
    for line in (it.strip() for it in lines if it.strip() and not it.startswith("#")):
        pattern = line.removeprefix("!").removeprefix("**/")
        parts = path.split("/")
        if any(fnmatch("/".join(parts[:n]), pattern) for n in range(1, len(parts) + 1)) or (
            "**/" in line and any(fnmatch(part, pattern) for part in parts)
        ):
            result = not line.startswith("!")
    return result


def test_the_image_is_built_from_what_there_is() -> None:
    for rest in said("COPY"):
        if rest.startswith("--from=build"):
            continue
        *sources, _ = rest.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert not ignored(source), source
    copied = " ".join(said("COPY"))
    for needed in ("pyproject.toml", "constraints.txt", PROJECT["readme"], "LICENSE", "src"):
        assert needed in copied
    for left_out in (".git/config", ".venv/bin/python", "tests/gates.py", "output/library/lock"):
        assert ignored(left_out), left_out
    assert ignored("src/unchunk/__pycache__/engine.pyc")
    assert not ignored("src/unchunk/server/page/index.html")


def test_the_image_installs_what_is_pinned_and_the_extras_are_there() -> None:
    [install] = [rest for rest in said("RUN") if "pip install" in rest]
    assert "-c constraints.txt" in install
    [extras] = re.findall(r"'\.\[([\w,]+)\]'", install)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])


def test_the_image_is_a_python_that_is_enough() -> None:
    [version] = [rest.partition("=")[2] for rest in said("ARG") if rest.startswith("PYTHON=")]
    least = PROJECT["requires-python"].removeprefix(">=")
    assert tuple(map(int, version.split("."))) >= tuple(map(int, least.split(".")))
    assert all("-slim" in rest for rest in said("FROM"))


def test_the_image_runs_as_nobody_in_particular_with_a_home_of_its_own() -> None:
    [user] = said("USER")
    [home] = said("VOLUME")
    [making] = [rest for rest in said("RUN") if "useradd" in rest]
    assert making.split("&&")[0].split()[-1] == user
    assert "--uid 10001" in making
    assert making.endswith(home)
    environment = dict(it.split("=", 1) for rest in said("ENV") for it in rest.split())
    assert environment["UNCHUNK_HOME"] == home
    assert {it for it in environment if it.startswith("UNCHUNK_")} <= SETTINGS


def test_the_image_starts_a_server_and_asks_it_whether_it_is_ready() -> None:
    [program] = json.loads(said("ENTRYPOINT")[0])
    assert program in PROJECT["scripts"]
    command = json.loads(said("CMD")[-1])
    check_command(command)
    port = command[command.index("--port") + 1]
    assert said("EXPOSE") == [port]
    [check] = said("HEALTHCHECK")
    [probe] = re.findall(r"http://127\.0\.0\.1:(\d+)(/[\w/]+)", check)
    assert probe == (port, "/health/ready")
    assert "/health/ready" in create_app(cast("Engine", object())).openapi()["paths"]
    # It is a program that can be run.
    [code] = re.findall(r'"-c", "(.*?)"\]', check)
    compile(code, "HEALTHCHECK", "exec")


@pytest.fixture
def service() -> dict[str, Any]:
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    assert set(compose) == {"services", "volumes"}
    [found] = compose["services"].values()
    assert isinstance(found, dict)
    named = {it.partition(":")[0] for it in found["volumes"]}
    assert named == set(compose["volumes"])
    return found


def test_the_service_is_this_machines_own_and_keeps_its_library(service: dict[str, Any]) -> None:
    assert (ROOT / service["build"] / "Dockerfile").exists()
    [port] = service["ports"]
    [exposed] = said("EXPOSE")
    assert port == f"127.0.0.1:{exposed}:{exposed}"
    [volume] = service["volumes"]
    assert volume.partition(":")[2] == said("VOLUME")[0]


def test_the_service_may_do_little_and_ends_in_peace(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert len(service["tmpfs"]) == 1
    assert int(service["stop_grace_period"].removesuffix("s")) >= 30
    assert set(service["environment"]) <= SETTINGS


def test_what_is_written_to_is_its_users_alone_and_there_before_it_is_needed() -> None:
    folders = re.findall(r"install -d -o (\S+) -g \1 -m 700 ([^\n]+)", PAGE)
    assert folders == [
        ("unchunk", "/var/lib/unchunk /var/backups/unchunk"),
        ("10001", "backups"),
    ]
    for wanted, where in zip(re.findall(r"export (/\S+)/", PAGE), folders, strict=True):
        assert wanted in where[1] or f"/{where[1]}:{wanted}" in PAGE
    assert "StateDirectoryMode=0700\n" in PAGE
    # The user, the folder, what is installed, the first key; and only then the start.
    steps = ("useradd", "install -d", "-m venv", "keys new", "systemctl enable --now")
    places = [PAGE.index(step) for step in steps]
    assert places == sorted(places)


def test_every_setting_that_is_named_anywhere_is_one() -> None:
    for name in ("compose.yaml", "Dockerfile", "docs/deployment.md", "docs/scaling.md"):
        named = set(re.findall(r"UNCHUNK_[A-Z_]+", (ROOT / name).read_text("utf-8")))
        assert named
        assert named <= SETTINGS, name
    for block in blocks("toml"):
        assert set(tomllib.loads(block)) <= {field.name for field in fields(Settings)}


def lines() -> Iterator[str]:
    """Commands of the page, and those in the comments of the compose file."""
    for block in blocks("sh"):
        yield from block.splitlines()
    yield from re.findall(r"(?m)^#   (docker .*)$", (ROOT / "compose.yaml").read_text("utf-8"))
    yield from re.findall(r"ExecStart=(.*)", PAGE)
    yield from re.findall(r"`((?:docker|unchunk) [^`]+)`", PAGE)


def ours(line: str) -> list[str] | None:
    """What `unchunk` is given in a line of a shell, if it is called there."""
    words = shlex.split(line, comments=True)
    if words[:2] == ["sudo", "-u"]:
        words = words[3:]
    elif words[:3] == ["docker", "compose", "exec"]:
        words = words[4:]
    elif words[:3] == ["docker", "compose", "run"]:
        words = words[words.index("unchunk") :]
    return words[1:] if words and Path(words[0]).name == "unchunk" else None


COMMANDS = sorted({" ".join(given) for line in lines() if (given := ours(line))})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_is_shown_can_be_given(command: str) -> None:
    check_command(command.split())


def test_the_commands_are_found_at_all() -> None:
    assert len(COMMANDS) >= 10
    with pytest.raises(click.UsageError):
        check_command(["serve", "--nonsense"])


def test_a_proxy_is_told_to_hold_nothing_back() -> None:
    [nginx] = blocks("nginx")
    for wanted in (
        "proxy_buffering off;",
        "proxy_set_header Host $host;",
        "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        "proxy_set_header X-Forwarded-Proto $scheme;",
        "proxy_set_header Upgrade $http_upgrade;",
        "proxy_set_header Connection $connection_upgrade;",
    ):
        assert wanted in nginx
    [most] = re.findall(r"client_max_body_size (\d+)m;", nginx)
    assert int(most) * 1_000_000 > Settings(Path()).max_bytes
    [caddy] = blocks("caddyfile")
    assert "flush_interval -1" in caddy
    for block in (nginx, caddy):
        assert "127.0.0.1:8000" in block
        assert block.count("{") == block.count("}")


def test_the_log_line_that_is_shown_is_one() -> None:
    [block] = blocks("json")
    wanted = {"time", "level", "job", "message", "method", "route", "status", "seconds"}
    assert set(json.loads(block)) == wanted


def test_the_scrape_that_is_shown_can_be_read() -> None:
    [block] = blocks("yaml")
    [job] = yaml.safe_load(block)["scrape_configs"]
    assert job["static_configs"][0]["targets"] == ["127.0.0.1:8000"]


def test_every_figure_that_is_named_is_one() -> None:
    source = (ROOT / "src" / "unchunk" / "server" / "metrics.py").read_text("utf-8")
    for name in re.findall(r"unchunk_[a-z_]+", PAGE):
        assert f'"{name.removesuffix("_total")}"' in source, name
