"""A small server that speaks Kafka Connect's REST API, over HTTP, for the tests of connectors.

Connect is not among the jars that streamsql fetches. The answers here are shaped as those of
Connect 4.3.1 with its file connectors; their workers run nothing.
"""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

PACKAGE = "org.apache.kafka.connect.file"
WORKER = "127.0.0.1:8083"
PLUGINS = {
    f"{PACKAGE}.FileStreamSinkConnector": ("sink", "topics"),
    f"{PACKAGE}.FileStreamSourceConnector": ("source", "topic"),
}
"""Class to its type and the property that it must be given."""


class ConnectCluster:
    """Connectors by name; a test may change what became of their tasks."""

    def __init__(self, user: str | None = None) -> None:
        """`user`: `name:password` that every request must give."""
        self._user = user
        self.configs: dict[str, dict[str, str]] = {}
        self.failures: dict[str, str] = {}
        """Connector to the stack trace of its task."""
        self.topics: dict[str, list[str]] = {}
        self.rebalancing = False

    @property
    def app(self) -> Starlette:
        routes = {
            "/connectors": {"GET": self._list, "POST": self._create},
            "/connectors/{name}": {"GET": self._info, "DELETE": self._delete},
            "/connectors/{name}/status": {"GET": self._status},
            "/connectors/{name}/topics": {"GET": self._topics},
            "/connector-plugins": {"GET": self._plugins},
            "/connector-plugins/{plugin}/config/validate": {"PUT": self._validate},
        }
        return Starlette(
            routes=[
                Route(path, self._endpoint(handler), methods=[method])
                for path, methods in routes.items()
                for method, handler in methods.items()
            ]
        )

    def _endpoint(self, handler: Any) -> Any:
        async def endpoint(request: Request) -> Response:
            given = request.headers.get("authorization", "")
            token = base64.b64encode((self._user or "").encode()).decode()
            if self._user is not None and given != f"Basic {token}":
                return Response("Unauthorized", 401)
            if self.rebalancing and request.method in ("POST", "DELETE"):
                return error(409, "Cannot complete request because of a conflicting operation")
            name = unquote(request.path_params.get("name", ""))
            if name and name not in self.configs:
                return error(404, f"Connector {name} not found")
            body = await request.json() if request.method in ("POST", "PUT") else None
            answer: Response = handler(request, name, body)
            return answer

        return endpoint

    def _list(self, request: Request, name: str, body: Any) -> Response:
        if "expand" not in request.query_params:
            return JSONResponse(list(self.configs))
        return JSONResponse(
            {n: {"status": self.status(n), "info": self.info(n)} for n in self.configs}
        )

    def _create(self, request: Request, name: str, body: Any) -> Response:
        name, config = body["name"], body["config"]
        if name in self.configs:
            return error(409, f"Connector {name} already exists")
        self.configs[name] = {**config, "name": name}
        return JSONResponse(self.info(name), 201)

    def _info(self, request: Request, name: str, body: Any) -> Response:
        return JSONResponse(self.info(name))

    def _status(self, request: Request, name: str, body: Any) -> Response:
        return JSONResponse(self.status(name))

    def _topics(self, request: Request, name: str, body: Any) -> Response:
        return JSONResponse({name: {"topics": self.topics.get(name, [])}})

    def _delete(self, request: Request, name: str, body: Any) -> Response:
        del self.configs[name]
        return Response(status_code=204)

    def _plugins(self, request: Request, name: str, body: Any) -> Response:
        found = [{"class": c, "type": t, "version": "4.3.1"} for c, (t, _) in PLUGINS.items()]
        return JSONResponse(found)

    def _validate(self, request: Request, name: str, body: Any) -> Response:
        plugin = plugin_of(body["connector.class"])
        required = ("name", "connector.class", PLUGINS[plugin][1])
        configs = []
        for property in required:
            text = f'Missing required configuration "{property}" which has no default value.'
            errors = [] if property in body else [text]
            value = {"name": property, "value": body.get(property), "errors": errors}
            configs.append({"definition": {"name": property}, "value": value})
        count = sum(bool(entry["value"]["errors"]) for entry in configs)
        return JSONResponse({"name": plugin, "error_count": count, "configs": configs})

    def info(self, name: str) -> dict[str, Any]:
        config = self.configs[name]
        type, _ = PLUGINS[plugin_of(config["connector.class"])]
        tasks = [{"connector": name, "task": 0}]
        return {"name": name, "config": config, "tasks": tasks, "type": type}

    def status(self, name: str) -> dict[str, Any]:
        task: dict[str, Any] = {"id": 0, "state": "RUNNING", "worker_id": WORKER}
        if name in self.failures:
            task |= {"state": "FAILED", "trace": self.failures[name]}
        connector = {"state": "RUNNING", "worker_id": WORKER}
        return {"name": name, "connector": connector, "tasks": [task]}


def plugin_of(name: str) -> str:
    """The class that a `connector.class` means: short names may be given."""
    return next(c for c in PLUGINS if name in c.rpartition(".")[2] or name == c)


def error(status: int, message: str) -> Response:
    return JSONResponse({"error_code": status, "message": message}, status)
