"""What deploy/ says fits together, and fits what the server takes; no cluster is asked."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamsql.cli.options.parser import build_parser
from streamsql.server.endpoints import health
from streamsql.server.settings.config_file import read_config

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = DEPLOY / "kubernetes"
PATHS = {route.path for route in health.ROUTES}
PORT = 8088


def documents(path: Path) -> list[dict[str, Any]]:
    return [found for found in yaml.safe_load_all(path.read_text("utf-8")) if found]


def manifest(kind: str) -> dict[str, Any]:
    found = [d for path in MANIFESTS.glob("*.yaml") for d in documents(path) if d["kind"] == kind]
    return found[0]


def instructions() -> dict[str, str]:
    """The last of each instruction of the Dockerfile."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = (line.partition(" ") for line in text.splitlines() if line[:1].isupper())
    return {name: value.strip() for name, _, value in lines}


COMPOSE = documents(DEPLOY / "compose.yaml")[0]
POD = manifest("StatefulSet")["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def test_kustomize_has_all_manifests_and_nothing_else() -> None:
    (kustomization,) = documents(MANIFESTS / "kustomization.yaml")
    there = {path.name for path in MANIFESTS.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == there
    for generator in kustomization["configMapGenerator"]:
        assert all((MANIFESTS / name).is_file() for name in generator["files"])


@pytest.mark.parametrize(
    "arguments",
    [
        CONTAINER["args"],
        yaml.safe_load(instructions()["CMD"]),
        *(s["command"] for name, s in COMPOSE["services"].items() if name.startswith("server")),
    ],
    ids=["kubernetes", "image", "server-1", "server-2"],
)
def test_commands_are_ones_that_the_server_takes(arguments: list[str]) -> None:
    args = build_parser().parse_args(arguments)
    assert args.command == "server"
    assert args.listen == f"0.0.0.0:{PORT}"


def test_settings_are_ones_that_the_server_takes() -> None:
    found = read_config(MANIFESTS / "server.properties")
    assert not found.kafka
    mounts = {mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    for option in ("checkpoints", "users_file"):
        place = Path(found.options[option])
        assert mounts & {str(place), str(place.parent)}, f"{place} is not mounted"
    service, namespace = manifest("Service")["metadata"]["name"], manifest("Namespace")["metadata"]
    assert f"{service}.{namespace['name']}.svc" in found.options["allowed_host"].split(",")


def test_probes_ask_what_the_server_answers_without_a_login() -> None:
    probes = [CONTAINER[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert {probe["path"] for probe in probes} <= PATHS
    assert {probe["port"] for probe in probes} == {"http"}
    assert CONTAINER["ports"] == [{"name": "http", "containerPort": PORT}]
    asked = re.search(r"http://127.0.0.1:(\d+)(/[\w/]+)", instructions()["HEALTHCHECK"])
    assert asked is not None
    assert int(asked[1]) == PORT == int(instructions()["EXPOSE"])
    assert asked[2] in PATHS


def test_no_container_runs_as_root() -> None:
    user, group = map(int, instructions()["USER"].split(":"))
    security = POD["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["fsGroup"]) == (
        user,
        group,
        group,
    )
    assert security["runAsNonRoot"] is True
    assert CONTAINER["securityContext"]["allowPrivilegeEscalation"] is False


def test_what_is_mounted_is_there() -> None:
    template = manifest("StatefulSet")["spec"]["volumeClaimTemplates"]
    known = {v["name"] for v in POD["volumes"]} | {t["metadata"]["name"] for t in template}
    assert {mount["name"] for mount in CONTAINER["volumeMounts"]} == known
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            assert volume.split(":")[0] in COMPOSE["volumes"]
        for config in service.get("configs", ()):
            assert config["source"] in COMPOSE["configs"]


def test_brokers_know_each_other() -> None:
    brokers = {n: s for n, s in COMPOSE["services"].items() if n.startswith("kafka")}
    voters = {f"{s['environment']['KAFKA_NODE_ID']}@{n}:9093" for n, s in brokers.items()}
    for name, service in brokers.items():
        settings = service["environment"]
        assert set(settings["KAFKA_CONTROLLER_QUORUM_VOTERS"].split(",")) == voters
        assert settings["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{name}:9092"
        assert len(base64.urlsafe_b64decode(settings["CLUSTER_ID"] + "==")) == 16
        assert not service["image"].endswith(":latest")
