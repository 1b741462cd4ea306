"""The registry's HTTP interface, as Confluent's: paths, answers and error codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from streamsql.registry.canonical import serialized
from streamsql.registry.embedded.store import Store
from streamsql.registry.records import (
    LEVELS,
    MODES,
    SCHEMA_TYPES,
    RegistryError,
    Schema,
    references_from_json,
)
from streamsql.web import bodies
from streamsql.web.guard import BrowserGuard
from streamsql.web.origins import AllowedHosts, Policy, Refusal

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
MAX_BODY_BYTES = 16 * 2**20
"""Of a request: a schema is kilobytes."""

Handler = Callable[["Call"], Any]


class Call:
    """One request as the handlers see it."""

    def __init__(self, store: Store, request: Request, body: bytes) -> None:
        self.store = store
        self._request = request
        self._body = body

    def path(self, name: str) -> str:
        return _with_slashes(str(self._request.path_params[name]))

    def given(self, name: str) -> str | None:
        """A part of the path that only some of the handler's paths have."""
        found = self._request.path_params.get(name)
        return None if found is None else _with_slashes(str(found))

    def flag(self, name: str) -> bool:
        """Whether a parameter of the query is `true`."""
        return self._request.query_params.get(name, "false").lower() == "true"

    def query(self, name: str) -> str | None:
        """A parameter of the query, or None."""
        return self._request.query_params.get(name)

    def body(self) -> dict[str, Any]:
        """The JSON object that was sent; RegistryError 422 for anything else."""
        try:
            found = json.loads(self._body)
        except ValueError as error:
            raise RegistryError(422, f"the body is not JSON: {error}") from error
        if not isinstance(found, dict):
            raise RegistryError(422, "the body is not an object")
        return found

    def id(self) -> int:
        """The id in the path; RegistryError 404 if it is not a number."""
        given = self.path("id")
        if not given.isdecimal():
            raise RegistryError(404, f"no such id: {given}")
        return int(given)

    def schema(self) -> Schema:
        body = self.body()
        if not isinstance(body.get("schema"), str):
            raise RegistryError(42201, "Empty schema")
        kind = body.get("schemaType") or "AVRO"
        return Schema(str(kind), body["schema"], references_from_json(body.get("references")))

    def formatted(self, schema: Schema) -> dict[str, Any]:
        """The answer's schema, as ?format=serialized asks for it."""
        answer = schema.to_json()
        if self.query("format") == "serialized":
            answer["schema"] = serialized(schema.type, schema.text)
        return answer


_SLASH = "\0"


def _with_slashes(part: str) -> str:
    return part.replace(_SLASH, "/")


def app(store: Store) -> ASGIApp:
    """The application over one store, for local clients except web pages."""
    routes = []
    for path, handlers in _ROUTES.items():
        for method, handler in handlers.items():
            routes.append(Route(path, _endpoint(store, handler), methods=[method]))
    routed = Starlette(routes=routes)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope["raw_path"].decode("latin-1")
        path = unquote(re.sub("%2f", "%00", raw, flags=re.IGNORECASE))
        await routed({**scope, "path": path}, receive, send)

    return BrowserGuard(application, Policy(AllowedHosts()), _refused)


def _refused(refusal: Refusal) -> ASGIApp:
    content = {"error_code": refusal.status, "message": refusal.message}
    return JSONResponse(content, refusal.status, media_type=MEDIA_TYPE)


def _error(error: RegistryError) -> Response:
    content = {"error_code": error.code, "message": error.message}
    return JSONResponse(content, error.status, media_type=MEDIA_TYPE)


def _endpoint(store: Store, handler: Handler) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            body = await bodies.read(request, MAX_BODY_BYTES)
        except bodies.TooLarge:
            message = f"the request has more than {MAX_BODY_BYTES} bytes"
            return _error(RegistryError(413, message))
        try:
            answer = await run_in_threadpool(handler, Call(store, request, body))
        except RegistryError as error:
            return _error(error)
        return JSONResponse(answer, media_type=MEDIA_TYPE)

    return endpoint


# -- subjects ------------------------------------------------------------------------------------


def _subjects(call: Call) -> Any:
    prefix = (call.query("subjectPrefix") or "").removeprefix(":*:")
    return call.store.subjects(deleted=call.flag("deleted"), prefix=prefix)


def _register(call: Call) -> Any:
    body = call.body()
    id, version = body.get("id"), body.get("version")
    found = call.store.register(
        call.path("subject"),
        call.schema(),
        id=int(id) if id is not None and int(id) >= 0 else None,
        version=int(version) if version is not None and int(version) > 0 else None,
    )
    return found.to_json()


def _lookup(call: Call) -> Any:
    found = call.store.lookup(call.path("subject"), call.schema(), deleted=call.flag("deleted"))
    return {**found.to_json(), **call.formatted(found.schema)}


def _versions(call: Call) -> Any:
    return call.store.versions(call.path("subject"), deleted=call.flag("deleted"))


def _version(call: Call) -> Any:
    found = call.store.version(
        call.path("subject"), call.path("version"), deleted=call.flag("deleted")
    )
    return {**found.to_json(), **call.formatted(found.schema)}


def _version_text(call: Call) -> Any:
    schema = call.store.version(call.path("subject"), call.path("version")).schema
    return _document(schema)


def _document(schema: Schema) -> Any:
    return schema.text if schema.type == "PROTOBUF" else json.loads(schema.text)


def _referenced_by(call: Call) -> Any:
    found = call.store.version(call.path("subject"), call.path("version"))
    return call.store.referenced_by(found.subject, found.version)


def _delete_subject(call: Call) -> Any:
    return call.store.delete(call.path("subject"), None, permanent=call.flag("permanent"))


def _delete_version(call: Call) -> Any:
    version = call.path("version")
    (number,) = call.store.delete(call.path("subject"), version, permanent=call.flag("permanent"))
    return number


# -- ids -----------------------------------------------------------------------------------------


def _types(call: Call) -> Any:
    return list(SCHEMA_TYPES)


def _schemas(call: Call) -> Any:
    found = call.store.all_versions(deleted=call.flag("deleted"))
    prefix = call.query("subjectPrefix") or ""
    if call.flag("latestOnly"):
        found = list({v.subject: v for v in found}.values())
    return [v.to_json() for v in found if v.subject.startswith(prefix)]


def _by_id(call: Call) -> Any:
    answer = call.formatted(call.store.by_id(call.id()))
    if call.flag("fetchMaxId"):
        answer["maxId"] = max(v.id for v in call.store.all_versions(deleted=True))
    return answer


def _text_by_id(call: Call) -> Any:
    return _document(call.store.by_id(call.id()))


def _subjects_of_id(call: Call) -> Any:
    return [v.subject for v in call.store.uses(call.id(), deleted=call.flag("deleted"))]


def _versions_of_id(call: Call) -> Any:
    uses = call.store.uses(call.id(), deleted=call.flag("deleted"))
    return [{"subject": v.subject, "version": v.version} for v in uses]


# -- rules ---------------------------------------------------------------------------------------


def _compatible(call: Call) -> Any:
    version = call.given("version")
    found = call.store.compatible(call.path("subject"), call.schema(), version)
    answer: dict[str, Any] = {"is_compatible": not found}
    if call.flag("verbose"):
        answer["messages"] = found
    return answer


def _level(call: Call) -> Any:
    subject = call.given("subject")
    if subject is None or call.flag("defaultToGlobal"):
        return {"compatibilityLevel": call.store.level(subject)}
    own = call.store.own_level(subject)
    if own is None:
        raise RegistryError(
            40408, f"Subject '{subject}' does not have subject-level compatibility configured"
        )
    return {"compatibilityLevel": own}


def _set_level(call: Call) -> Any:
    level = str(call.body().get("compatibility")).upper()
    if level not in LEVELS:
        raise RegistryError(
            42203, f"Invalid compatibility level. Valid values are {', '.join(LEVELS)}"
        )
    call.store.set_level(call.given("subject"), level)
    return {"compatibility": level}


def _delete_level(call: Call) -> Any:
    before = call.store.level(call.given("subject"))
    call.store.set_level(call.given("subject"), None)
    return {"compatibilityLevel": before}


def _mode(call: Call) -> Any:
    subject = call.given("subject")
    if subject is None or call.flag("defaultToGlobal"):
        return {"mode": call.store.mode(subject)}
    own = call.store.own_mode(subject)
    if own is None:
        raise RegistryError(
            40409, f"Subject '{subject}' does not have subject-level mode configured"
        )
    return {"mode": own}


def _set_mode(call: Call) -> Any:
    mode = str(call.body().get("mode")).upper()
    if mode not in MODES:
        raise RegistryError(42204, f"Invalid mode. Valid values are {', '.join(MODES)}")
    call.store.set_mode(call.given("subject"), mode)
    return {"mode": mode}


def _delete_mode(call: Call) -> Any:
    before = call.store.mode(call.given("subject"))
    call.store.set_mode(call.given("subject"), None)
    return {"mode": before}


_CONFIG: dict[str, Handler] = {"GET": _level, "PUT": _set_level, "DELETE": _delete_level}
_MODE: dict[str, Handler] = {"GET": _mode, "PUT": _set_mode, "DELETE": _delete_mode}
_ROUTES: dict[str, dict[str, Handler]] = {
    "/": {"GET": lambda call: {}},
    "/subjects": {"GET": _subjects},
    "/subjects/{subject}": {"POST": _lookup, "DELETE": _delete_subject},
    "/subjects/{subject}/versions": {"GET": _versions, "POST": _register},
    "/subjects/{subject}/versions/{version}": {"GET": _version, "DELETE": _delete_version},
    "/subjects/{subject}/versions/{version}/schema": {"GET": _version_text},
    "/subjects/{subject}/versions/{version}/referencedby": {"GET": _referenced_by},
    "/schemas": {"GET": _schemas},
    "/schemas/types": {"GET": _types},
    "/schemas/ids/{id}": {"GET": _by_id},
    "/schemas/ids/{id}/schema": {"GET": _text_by_id},
    "/schemas/ids/{id}/subjects": {"GET": _subjects_of_id},
    "/schemas/ids/{id}/versions": {"GET": _versions_of_id},
    "/compatibility/subjects/{subject}/versions": {"POST": _compatible},
    "/compatibility/subjects/{subject}/versions/{version}": {"POST": _compatible},
    "/config": _CONFIG,
    "/config/{subject}": _CONFIG,
    "/mode": _MODE,
    "/mode/{subject}": _MODE,
    "/contexts": {"GET": lambda call: ["."]},
}
