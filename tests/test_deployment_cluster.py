"""What several machines are deployed with names what there is, and fits together."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own
from psycopg.pq import Conninfo

from test_deployment import PROJECT, ROOT, SETTINGS, check_command, said
from unchunk.adapters.catalog.connecting import place_of
from unchunk.engine import Engine
from unchunk.server.app import create_app

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
OURS = {name: it for name, it in COMPOSE["services"].items() if it["image"] == "unchunk"}


def objects() -> Iterator[dict[str, Any]]:
    """All that the kustomization names."""
    for name in yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text("utf-8"))["resources"]:
        yield from yaml.safe_load_all((KUBERNETES / name).read_text("utf-8"))


def one(kind: str, name: str) -> dict[str, Any]:
    [found] = [it for it in objects() if (it["kind"], it["metadata"]["name"]) == (kind, name)]
    return found


def containers() -> dict[str, dict[str, Any]]:
    found = {}
    for it in objects():
        if it["kind"] == "Deployment":
            [container] = it["spec"]["template"]["spec"]["containers"]
            found[container["name"]] = container
    return found


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.yaml")), ids=lambda it: it.name)
def test_every_setting_that_is_named_is_one(path: Path) -> None:
    assert set(re.findall(r"\bUNCHUNK_[A-Z_]+", path.read_text("utf-8"))) <= SETTINGS


def test_servers_take_in_and_workers_work() -> None:
    servers = [OURS["server"]["command"], containers()["server"]["args"]]
    assert servers[0] == servers[1]
    assert "--no-work" in servers[0]
    for command in (*servers, OURS["worker"]["command"], containers()["worker"]["args"]):
        check_command(command)
    with pytest.raises(click.UsageError):
        check_command(["worker", "--nonsense"])


def test_the_image_has_what_the_settings_ask_for() -> None:
    [install] = [rest for rest in said("RUN") if "pip install" in rest]
    [extras] = re.findall(r"'\.\[([\w,]+)\]'", install)
    assert {"postgres", "qdrant", "s3"} <= set(extras.split(","))
    assert {"postgres", "qdrant", "s3"} <= set(PROJECT["optional-dependencies"])


def test_all_of_ours_share_one_place_and_may_do_little() -> None:
    shared = [it["environment"] for it in OURS.values()]
    assert all(it == shared[0] for it in shared)
    assert {"UNCHUNK_CATALOG", "UNCHUNK_INDEX", "UNCHUNK_BLOBS"} <= set(shared[0])
    for it in OURS.values():
        assert it["read_only"] is True
        assert it["cap_drop"] == ["ALL"]
    for container in containers().values():
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        named = {next(iter(it.values()))["name"] for it in container["envFrom"]}
        assert named == {"unchunk"}
        mounts = {it["mountPath"] for it in container["volumeMounts"]}
        assert mounts == {said("VOLUME")[0], "/tmp"}  # noqa: S108 - a folder in a container


def test_the_nodes_of_the_index_are_those_that_are_started() -> None:
    named = re.findall(r"http://([\w.-]+):6333", OURS["server"]["environment"]["UNCHUNK_INDEX"])
    assert named == [name for name in COMPOSE["services"] if name.startswith("qdrant-")]
    values = yaml.safe_load((KUBERNETES / "qdrant-values.yaml").read_text("utf-8"))
    index = one("ConfigMap", "unchunk")["data"]["UNCHUNK_INDEX"]
    nodes = re.findall(r"http://qdrant-(\d)\.qdrant-headless:6333", index)
    assert nodes == [str(at) for at in range(values["replicaCount"])]
    assert values["config"]["cluster"]["enabled"] is True


def test_every_secret_is_in_the_example_and_in_no_other_file() -> None:
    example = yaml.safe_load((KUBERNETES / "secret.example.yaml").read_text("utf-8"))
    secret = set(example["stringData"])
    assert secret == {"UNCHUNK_CATALOG", "PGPASSWORD"} | {
        name for name in secret if name.endswith(("_KEY", "_ID"))
    }
    assert not secret & set(one("ConfigMap", "unchunk")["data"])
    resources = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text("utf-8"))["resources"]
    assert "secret.example.yaml" not in resources
    passwords = re.findall(r"(?:PASSWORD|KEY): (\S+)", (DEPLOY / "compose.yaml").read_text("utf-8"))
    assert passwords
    assert all(it.startswith("${") for it in passwords)


def test_a_password_may_have_any_character() -> None:
    example = yaml.safe_load((KUBERNETES / "secret.example.yaml").read_text("utf-8"))["stringData"]
    for values in (example, *(it["environment"] for it in OURS.values())):
        url, _ = place_of(values["UNCHUNK_CATALOG"])
        assert url.password is None, "one with @ or / would break it"
        assert values["PGPASSWORD"]
        # What is not in the address, the driver takes from there.
        known = {it.keyword: it.envvar for it in Conninfo.get_defaults()}
        assert known[b"password"] == b"PGPASSWORD"


def test_what_asks_for_a_server_finds_one_and_nothing_sticks() -> None:
    server, service = one("Deployment", "unchunk-server"), one("Service", "unchunk")
    labels = server["spec"]["template"]["metadata"]["labels"]
    for selector in (
        server["spec"]["selector"]["matchLabels"],
        service["spec"]["selector"],
        one("PodDisruptionBudget", "unchunk-server")["spec"]["selector"]["matchLabels"],
    ):
        assert selector == labels
    assert "sessionAffinity" not in service["spec"]
    [path] = one("Ingress", "unchunk")["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"] == {"name": "unchunk", "port": {"name": "http"}}
    container = containers()["server"]
    [port] = container["ports"]
    assert str(port["containerPort"]) == container["args"][container["args"].index("--port") + 1]
    known = create_app(cast("Engine", object())).openapi()["paths"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["path"] in known
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert "dynamic a server 8000" in caddy
    assert "lb_policy round_robin" in caddy
    assert "flush_interval -1" in caddy
