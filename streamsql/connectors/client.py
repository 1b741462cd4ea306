"""Client of Kafka Connect's REST API: connectors, their state, and plugins. The engine keeps no
state of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamsql.connectors.http import RestService, check_service_url, quoted
from streamsql.errors import CatalogError, ConfigError, ExternalError
from streamsql.ksqldb import says
from streamsql.properties import CONNECT_URL, CONNECT_USER, get_text
from streamsql.waiting import await_condition

CLASS = "connector.class"
FAILED = "FAILED"
_UNASSIGNED = {"connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": ()}
"""The state of a connector that is new, or whose worker is being reassigned."""


@dataclass(frozen=True)
class Task:
    """One task; `trace` is the stack trace of a failed task."""

    id: int
    state: str
    trace: str | None = None


@dataclass(frozen=True)
class Connector:
    """A connector and its state; `type` is source, sink or unknown."""

    name: str
    type: str
    class_name: str
    state: str
    worker: str
    tasks: tuple[Task, ...] = ()
    trace: str | None = None

    @property
    def failure(self) -> str | None:
        """The stack trace of the connector or of its first task that failed; None if none has."""
        if self.state == FAILED:
            return self.trace or ""
        return next((task.trace or "" for task in self.tasks if task.state == FAILED), None)

    @property
    def status(self) -> str:
        running = sum(task.state == "RUNNING" for task in self.tasks)
        return f"{self.state} ({running}/{len(self.tasks)} tasks RUNNING)"


@dataclass(frozen=True)
class Flow:
    """A connector, and the topics that it reads or writes."""

    connector: Connector
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Plugin:
    """A connector plugin that the workers can run."""

    class_name: str
    type: str
    version: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names that Connect accepts for it: the class, with or without its package, or an
        abbreviation."""
        simple = self.class_name.rpartition(".")[2]
        return self.class_name, simple, simple.removesuffix("Connector")

    def is_called(self, name: str) -> bool:
        """Whether a connector's `connector.class` may mean this plugin."""
        return name in self.names


class ConnectClient:
    """Client of one cluster. Methods raise ExternalError if it does not respond or fails."""

    def __init__(
        self,
        url: str,
        user: str | None = None,
        source_defaults: Mapping[str, str] | None = None,
        patience: float = 0.0,
    ) -> None:
        """`source_defaults`: properties that source connectors of this cluster have by default;
        `patience`: for how many seconds a change waits for the end of a rebalance."""
        self._service = RestService("Kafka Connect", url, user)
        self._patience = patience
        self.source_defaults = source_defaults or {}

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ConnectClient | None:
        """The cluster of the session's properties; None if they name none."""
        url = get_text(properties, CONNECT_URL)
        if url is None:
            return None
        url = check_service_url(url, "Kafka Connect")
        return cls(url, get_text(properties, CONNECT_USER))

    def connectors(self) -> list[Connector]:
        found = self._get("list the connectors", "/connectors?expand=status&expand=info")
        return sorted(
            (_connector(c["info"], c.get("status", _UNASSIGNED)) for c in found.values()),
            key=lambda connector: connector.name,
        )

    def connector(self, name: str) -> Connector:
        action, path = f"describe the connector {name}", f"/connectors/{quoted(name)}"
        status, info = self._service.request("GET", path)
        if status == 404:
            raise missing(name)
        info = self._checked(action, status, info)
        status, state = self._service.request("GET", f"{path}/status")
        if status == 404:
            return _connector(info, _UNASSIGNED)
        return _connector(info, self._checked(action, status, state))

    def exists(self, name: str) -> bool:
        """Raises ExternalError if Connect does not respond."""
        return name in self._get("list the connectors", "/connectors")

    def topics(self, name: str) -> list[str]:
        """Topics that a connector has used; empty if the cluster does not track them."""
        status, answer = self._service.request("GET", f"/connectors/{quoted(name)}/topics")
        if status in (403, 404):
            return []
        used = self._checked(f"list the topics of {name}", status, answer)
        return sorted(str(topic) for topic in used.get(name, {}).get("topics", ()))

    def plugins(self) -> list[Plugin]:
        found = self._get("list the connector plugins", "/connector-plugins")
        return [
            Plugin(str(p["class"]), str(p.get("type", "unknown")), str(p.get("version") or ""))
            for p in found
        ]

    def validate(self, config: Mapping[str, str]) -> None:
        """Raises ConfigError with all of Connect's validation errors."""
        path = f"/connector-plugins/{quoted(config[CLASS])}/config/validate"
        status, answer = self._service.request("PUT", path, dict(config))
        answer = self._checked("validate the connector", status, answer)
        # Null for a definition whose property depends on one that is not given.
        values = [entry["value"] for entry in answer["configs"] if entry["value"]]
        errors = {v["name"]: _shown(v, config) for v in values if v.get("errors")}
        wrong = [f"{name}: {text}" for name, texts in errors.items() for text in texts]
        if wrong:
            raise ConfigError(
                f"Connect rejects the connector: {len(wrong)} "
                f"{'property is' if len(wrong) == 1 else 'properties are'} wrong",
                detail="\n".join(wrong),
                ksqldb=says(
                    "connector-invalid",
                    reasons="\n".join(f"{name} - {'. '.join(t)}" for name, t in errors.items()),
                ),
            )

    def create(self, name: str, config: Mapping[str, str]) -> None:
        body = {"name": name, "config": dict(config)}
        status, answer = self._changed("POST", "/connectors", body)
        if status == 409 and self.exists(name):
            raise CatalogError(f"Connector {name} already exists")
        if status == 400:
            raise ConfigError("Connect rejects the connector", detail=_message(answer))
        self._checked(f"create the connector {name}", status, answer)

    def config(self, name: str) -> dict[str, str]:
        """A connector's properties, as they were given."""
        return dict(
            self._get(f"describe the connector {name}", f"/connectors/{quoted(name)}/config")
        )

    def put(self, name: str, config: Mapping[str, str]) -> None:
        """Creates a connector, or gives it these properties."""
        path = f"/connectors/{quoted(name)}/config"
        answer = self._changed("PUT", path, dict(config))
        self._checked(f"create the connector {name}", *answer)

    def end(self, name: str) -> None:
        """Stops a connector's tasks, and forgets its offsets."""
        path, action = f"/connectors/{quoted(name)}", f"stop the connector {name}"
        self._checked(action, *self._changed("PUT", f"{path}/stop"))

        def is_forgotten() -> bool:
            # Refused until its tasks have ended.
            status, _ = self._service.request("DELETE", f"{path}/offsets")
            return 200 <= status < 300

        if not await_condition(is_forgotten, self._patience, every=0.2):
            raise ExternalError(f"cannot {action}: its tasks still run", retryable=True)

    def restart(self, name: str) -> None:
        """Restarts the connector and its tasks, as far as they have failed."""
        path = f"/connectors/{quoted(name)}/restart?includeTasks=true&onlyFailed=true"
        self._checked(f"restart the connector {name}", *self._service.request("POST", path))

    def delete(self, name: str) -> None:
        status, answer = self._changed("DELETE", f"/connectors/{quoted(name)}")
        if status == 404:
            raise missing(name)
        self._checked(f"drop the connector {name}", status, answer)

    def _changed(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        answer: list[tuple[int, Any]] = []

        def is_settled() -> bool:
            answer[:] = [self._service.request(method, path, body)]
            return answer[0][0] != 409 or not _is_rebalancing(answer[0][1])

        await_condition(is_settled, self._patience, every=0.2)
        return answer[0]

    def _get(self, action: str, path: str) -> Any:
        return self._checked(action, *self._service.request("GET", path))

    def _checked(self, action: str, status: int, answer: Any) -> Any:
        """The answer to a request that was granted."""
        if 200 <= status < 300:
            return answer
        raise ExternalError(
            f"cannot {action}: Kafka Connect answered {status}",
            # 409: the workers are rebalancing.
            retryable=status == 409 or status >= 500,
            detail=_message(answer),
            hint=f"SET '{CONNECT_USER}' = 'name:password';" if status == 401 else None,
        )


def cause(trace: str) -> str:
    """The last cause in a stack trace: a line."""
    causes = re.findall(r"^\s*Caused by: (.+)$", trace, re.MULTILINE)
    return str(causes[-1]) if causes else trace.strip().partition("\n")[0]


def _shown(value: Mapping[str, Any], config: Mapping[str, str]) -> list[str]:
    """The errors of a property. Those of a reference may repeat what it refers to."""
    if "${" in config.get(value["name"], ""):
        return ["Invalid value behind the reference."]
    return [str(error) for error in value["errors"]]


def missing(name: str) -> CatalogError:
    return CatalogError(
        f"Connector {name} does not exist.",
        hint="SHOW CONNECTORS lists them; put a name with lower-case letters in backticks.",
    )


def _is_rebalancing(answer: Any) -> bool:
    """Whether the request conflicts with a rebalance, not with a connector of the same name."""
    return "already exists" not in (_message(answer) or "")


def _message(answer: Any) -> str | None:
    """The message of Connect's error response."""
    message = str(answer.get("message") or "").strip() if isinstance(answer, dict) else ""
    # Connect's web server responds with an HTML page.
    return None if message.startswith("<") else message or None


def _connector(info: Mapping[str, Any], status: Mapping[str, Any]) -> Connector:
    state = status["connector"]
    tasks = (
        Task(int(task["id"]), str(task["state"]), task.get("trace")) for task in status["tasks"]
    )
    return Connector(
        name=str(info["name"]),
        type=str(info.get("type") or "unknown"),
        class_name=str(info["config"].get(CLASS, "")),
        state=str(state["state"]),
        worker=str(state.get("worker_id", "")),
        tasks=tuple(sorted(tasks, key=lambda task: task.id)),
        trace=state.get("trace"),
    )
