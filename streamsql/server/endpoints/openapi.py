"""GET /openapi.json. `PATHS` has an entry per route, which a test checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.server.http.media import DELIMITED, JSON, KSQL_JSON, PROTOBUF
from streamsql.version import VERSION

Json = dict[str, Any]

_ERRORS = {
    400: "Invalid request or statement",
    401: "Authentication required",
    403: "Not allowed",
    406: "No acceptable media type",
    413: "The request is too large",
    415: "The request is not JSON",
    429: "Too many requests",
    500: "The server or an external system failed",
    503: "The server is starting or stopping",
}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: tuple[str, ...] = (), **properties: Mapping[str, Any]) -> Json:
    found: Json = {"type": "object", "properties": properties}
    return {**found, "required": list(required)} if required else found


_TEXT: Json = {"type": "string"}
_ANYTHING: Json = {"type": "object", "additionalProperties": True}
_SCALARS: Json = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
}
_ERROR: dict[str, Json] = {
    "@type": {"enum": ["generic_error", "statement_error"]},
    "error_code": {"type": "integer", "description": "HTTP status times 100, plus a number"},
    "message": _TEXT,
    "statementText": _TEXT,
    "entities": {"type": "array", "items": _ANYTHING},
}
_OK = _object(isOk={"type": "boolean"})

SCHEMAS: Json = {
    "Error": _object(
        ("@type", "error_code", "message"),
        **_ERROR,
    ),
    "Statements": _object(
        ("ksql",),
        ksql={"type": "string", "description": "Statements, each followed by a semicolon"},
        streamsProperties=_SCALARS,
        sessionVariables=_SCALARS,
        commandSequenceNumber={"type": ["integer", "null"]},
        requestProperties=_ANYTHING,
    ),
    "QueryStream": _object(("sql",), sql=_TEXT, properties=_SCALARS, sessionVariables=_SCALARS),
    "Files": _object(
        (),
        files={"type": "array", "items": _object(("name", "sql"), name=_TEXT, sql=_TEXT)},
        properties=_SCALARS,
        sessionVariables=_SCALARS,
        prune={"type": "boolean", "description": "Drop objects that are not in the files"},
        partial={"type": "boolean", "description": "Take other sources from the running pipeline"},
        fromWhatIsLeft={"type": "boolean", "description": "Accept deleted records in a rebuild"},
        stage={"type": "boolean", "description": "Rebuild without switching"},
        undo={"type": "boolean", "description": "Without files: undo the last apply"},
        promote={"type": "boolean", "description": "Without files: switch to the staged change"},
        discard={"type": "boolean", "description": "Without files: discard the staged change"},
    ),
    "Entity": _object(("@type", "statementText"), **{"@type": _TEXT, "statementText": _TEXT}),
    "StreamedRow": _object(
        header=_object(queryId=_TEXT, schema=_TEXT, protoSchema=_TEXT),
        row=_object(columns={"type": "array"}, protobufBytes=_TEXT, tombstone={"type": "boolean"}),
        finalMessage=_TEXT,
        errorMessage=_ref("Error"),
    ),
    "Host": _object(("host", "port"), host=_TEXT, port={"type": "integer"}),
}


def _json(schema: Json) -> Json:
    return {JSON: {"schema": schema}}


def _operation(
    summary: str, ok: Json, *, body: Json | None = None, errors: tuple[int, ...] = ()
) -> Json:
    failures = (*errors, *((400, 413, 415) if body else ()), 401, 403, 429, 500, 503)
    error = {"content": _json(_ref("Error"))}
    responses = {"200": {"description": "Done", "content": ok}}
    for code in sorted(set(failures)):
        responses[str(code)] = {"description": _ERRORS.get(code, "Not there"), **error}
    found: Json = {"summary": summary, "responses": responses}
    if body:
        found["requestBody"] = {"required": True, "content": body}
    return found


def _with(operation: Json, *parameters: str) -> Json:
    found = [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in parameters]
    return {**operation, "parameters": found}


_ROWS: Json = {"type": "array", "items": _ref("StreamedRow")}
_LINES: Json = {"type": "string", "description": "One JSON value per line"}
_QUERY_FORMS: Json = {
    KSQL_JSON: {"schema": _ROWS},
    JSON: {"schema": {"type": "array"}},
    DELIMITED: {"schema": _LINES},
    PROTOBUF: {"schema": _ROWS},
    "text/plain": {"schema": _TEXT},
}
_ENTITIES: Json = {
    media: {"schema": {"type": "array", "items": _ref("Entity")}} for media in (KSQL_JSON, JSON)
}
_STATEMENTS: Json = {media: {"schema": _ref("Statements")} for media in (JSON, KSQL_JSON)}

PATHS: Json = {
    "/": {
        "get": {
            "summary": "The console for clients that accept HTML, otherwise a redirect to /info",
            "responses": {
                "200": {"description": "The page", "content": {"text/html": {"schema": _TEXT}}},
                "307": {"description": "Go there"},
            },
        }
    },
    **{
        f"/console/{folder}{{name}}": {
            "get": _with(
                _operation("A file of the console", {"*/*": {"schema": _TEXT}}, errors=(404,)),
                "name",
            )
        }
        for folder in ("", "vendor/")
    },
    "/info": {"get": _operation("Version and state", _json(_ANYTHING))},
    "/healthcheck": {"get": _operation("What works", _json(_ANYTHING))},
    "/chc/live": {"get": _operation("Liveness", _json(_ANYTHING))},
    "/chc/ready": {"get": _operation("Readiness", _json(_ANYTHING))},
    "/status": {"get": _operation("Status of commands", _json(_ANYTHING))},
    "/status/{type}/{entity}/{action}": {
        "get": _with(
            _operation("Status of a command", _json(_ANYTHING), errors=(404,)),
            "type",
            "entity",
            "action",
        )
    },
    "/is_valid_property/{name}": {
        "get": _with(
            _operation(
                "Whether SET accepts the property", _json({"type": "boolean"}), errors=(400,)
            ),
            "name",
        )
    },
    "/v1/metadata": {"get": _operation("Id of the cluster", _json(_ANYTHING))},
    "/v1/metadata/id": {"get": _operation("Id of the cluster", _json(_ANYTHING))},
    "/clusterStatus": {"get": _operation("Other servers", _json(_ANYTHING))},
    "/heartbeat": {
        "post": _operation(
            "Heartbeat of a server",
            _json(_OK),
            body=_json(
                _object(("hostInfo",), hostInfo=_ref("Host"), timestamp={"type": "integer"})
            ),
        )
    },
    "/lag": {
        "post": _operation(
            "Lag of a server's stores",
            _json(_OK),
            body=_json(
                _object(
                    ("ksqlHost", "hostStoreLags"), ksqlHost=_ref("Host"), hostStoreLags=_ANYTHING
                )
            ),
        )
    },
    "/ksql": {
        "post": _operation(
            "Statements other than SELECT and PRINT",
            _ENTITIES,
            body=_STATEMENTS,
            errors=(406, 417),
        )
    },
    "/ksql/terminate": {
        "post": _operation(
            "End all queries and empty the catalog",
            _ENTITIES,
            body=_json(_object(deleteTopicList={"type": "array", "items": _TEXT})),
            errors=(406,),
        )
    },
    "/query": {
        "post": _operation("One SELECT or PRINT", _QUERY_FORMS, body=_STATEMENTS, errors=(406,))
    },
    "/query-stream": {
        "post": _operation(
            "One SELECT or PRINT, by default as lines",
            _QUERY_FORMS,
            body={media: {"schema": _ref("QueryStream")} for media in (JSON, KSQL_JSON)},
            errors=(406,),
        )
    },
    "/close-query": {
        "post": _operation(
            "End a push query",
            _json(_ANYTHING),
            body=_json(_object(("queryId",), queryId=_TEXT)),
        )
    },
    "/inserts-stream": {
        "post": _operation(
            "Insert rows: a line that names the target, then one row per line",
            {DELIMITED: {"schema": _LINES}, JSON: {"schema": {"type": "array"}}},
            body={
                DELIMITED: {"schema": _LINES},
                JSON: {"schema": _object(("target",), target=_TEXT)},
            },
            errors=(406,),
        )
    },
    "/metrics": {
        "get": _operation("For Prometheus", {"text/plain": {"schema": _TEXT}}),
    },
    "/openapi.json": {"get": _operation("This description", _json(_ANYTHING))},
    "/streamsql/execute": {
        "post": _operation(
            "Any statements, with typed results as lines: for streamsql's own shell and clients",
            {"application/x-ndjson": {"schema": _LINES}},
            body=_json(_ref("QueryStream")),
        )
    },
    "/streamsql/plan": {
        "post": _operation(
            "Changes of files relative to the running pipeline",
            _json(_ANYTHING),
            body=_json(_ref("Files")),
        )
    },
    "/streamsql/apply": {
        "post": _operation(
            "Apply the changes of files atomically",
            {"application/x-ndjson": {"schema": _LINES}},
            body=_json(_ref("Files")),
        )
    },
    "/streamsql/catalog": {
        "get": _operation("The catalog", _json(_ANYTHING)),
    },
    "/streamsql/status": {"get": _operation("Status of the engine", _json(_ANYTHING))},
    "/streamsql/login": {
        "post": _operation(
            "Open a console session: by the token, or with users by password",
            _json(_ANYTHING),
            body=_json(_object(token=_TEXT)),
        )
    },
    "/streamsql/logout": {
        "post": _operation("End the session", _json(_ANYTHING), body=_json(_ANYTHING))
    },
    "/streamsql/session": {"get": _operation("User and server of the session", _json(_ANYTHING))},
    "/streamsql/check": {
        "post": _operation(
            "Errors of statements, without running them",
            _json(_ANYTHING),
            body=_json(_ref("QueryStream")),
        )
    },
    "/streamsql/suggest": {
        "post": _operation(
            "Completion between two texts",
            _json(_ANYTHING),
            body=_json(_object(("before",), before=_TEXT, after=_TEXT)),
        )
    },
    "/streamsql/words": {"get": _operation("Keywords of the language", _json(_ANYTHING))},
    "/streamsql/scripts": {
        "get": _operation("Scripts that the console can open and save", _json(_ANYTHING))
    },
    "/streamsql/scripts/{name}": {
        "get": _with(_operation("A script", _json(_ANYTHING), errors=(400, 404)), "name"),
        "post": _with(
            _operation(
                "Save a script over the opened version, or a new one",
                _json(_ANYTHING),
                body=_json(_object(("sql",), sql=_TEXT, version=_TEXT)),
                errors=(404,),
            ),
            "name",
        ),
    },
    "/streamsql/graph": {
        "get": _operation("Objects, their connections and progress", _json(_ANYTHING))
    },
}


def description() -> Json:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "streamsql",
            "version": VERSION,
            "description": "SQL over streams. The paths are those of ksqlDB's REST API, "
            "except for /metrics, /openapi.json and /streamsql.",
        },
        "paths": PATHS,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


async def openapi(request: Request) -> Response:
    return JSONResponse(description())


ROUTES = [Route("/openapi.json", openapi)]
