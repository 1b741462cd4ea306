"""Reading requests: JSON bodies, and sessions. A request's session has the server's properties and
variables, overridden by the request's, and ends with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect, Request

from streamsql.errors import ConfigError
from streamsql.ksqldb import Sentence, says
from streamsql.properties import ADMINS, forget_credentials, resolve, settable, validate
from streamsql.properties.foreign import sent_by_clients
from streamsql.roles import Role, allowed_by_role
from streamsql.server.http.errors import BAD_REQUEST, FORBIDDEN, TOO_LARGE, RequestError
from streamsql.session import Session
from streamsql.web import bodies

MAX_DEPTH = 100
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
"""Limit of nesting depth for JSON."""

_MALFORMED = says("malformed-json")
SEVERAL_REQUESTS = "Send the statements in several requests, and rows to /inserts-stream."


@dataclass(frozen=True)
class StatementRequest:
    """Body of /ksql, /query and /query-stream."""

    sql: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    sequence: int | None = None
    """commandSequenceNumber: the command that must have completed before."""
    request_properties: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(body: object) -> StatementRequest:
        """From a parsed body; accepts both of ksqlDB's spellings."""
        given = as_object(body, "the request")
        sql = given.get("ksql", given.get("sql"))
        if not isinstance(sql, str) or not sql.strip():
            name = "sql" if "sql" in given else "ksql"
            raise RequestError(
                BAD_REQUEST,
                f'the request has no statement in "{name}"',
                ksqldb=says("no-argument", name=name),
            )
        properties = given.get("streamsProperties", given.get("properties"))
        sequence = given.get("commandSequenceNumber")
        if sequence is not None and (isinstance(sequence, bool) or not isinstance(sequence, int)):
            raise RequestError(BAD_REQUEST, "commandSequenceNumber is not a whole number")
        return StatementRequest(
            sql,
            optional_object(properties, "streamsProperties"),
            optional_object(given.get("sessionVariables"), "sessionVariables"),
            sequence,
            optional_object(given.get("requestProperties"), "requestProperties"),
        )

    def session(self, server: Session) -> Session:
        """A session for this request; RequestError for an invalid property."""
        return request_session(server, self.properties, self.variables)


def request_session(
    server: Session, properties: Mapping[str, Any], variables: Mapping[str, Any]
) -> Session:
    """The server's session, overridden by the request's values. Errors as in session_properties."""
    given = {name.upper(): as_text(value) for name, value in variables.items()}
    own = session_properties(server, properties)
    return Session(own, {**server.variables, **given}, remote=True)


def session_properties(server: Session, given: Mapping[str, Any]) -> dict[str, str]:
    """The server's properties, overridden by a request's. RequestError for a property that is
    invalid, or that the request's role cannot set."""
    found = checked_properties(given)
    properties = {**server.properties, **found}
    for name in found:
        try:
            settable(name)
        except ConfigError as error:
            raise RequestError(BAD_REQUEST, error.message) from None
    for name in ADMINS & found.keys():
        if not allowed_by_role(Role.ADMIN):
            raise RequestError(FORBIDDEN, f"setting '{name}' requires the role admin")
        forget_credentials(name, properties, server.properties)
    return properties


def checked_properties(given: Mapping[str, Any]) -> dict[str, str]:
    """Properties by canonical name, without those that only ksqlDB knows."""
    found: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        try:
            resolve(name)
        except ConfigError as error:
            if sent_by_clients(name):
                continue
            raise RequestError(BAD_REQUEST, error.message, ksqldb=error.ksqldb) from None
        try:
            canonical, text = validate(name, as_text(value))
        except ConfigError as error:
            raise RequestError(BAD_REQUEST, error.message, ksqldb=error.ksqldb) from None
        found[canonical] = text
    return found


def as_text(value: object) -> str:
    """A JSON value of a property or variable as SET or DEFINE text."""
    return value if isinstance(value, str) else json.dumps(value)


def as_object(body: object, what: str) -> dict[str, Any]:
    """A JSON object; RequestError, which names it `what`, for other values."""
    if not isinstance(body, dict):
        raise RequestError(BAD_REQUEST, f"{what} is not a JSON object")
    return body


def optional_object(value: object, what: str) -> dict[str, Any]:
    """As `as_object`; empty for null or a missing value."""
    return {} if value is None else as_object(value, what)


def too_large(limit: int, hint: str = "") -> RequestError:
    """Error for a request of more than `limit` bytes, with a hint."""
    message = f"the request has more than {limit} bytes"
    return RequestError(TOO_LARGE, f"{message}\nHint: {hint}" if hint else message)


async def read_body(request: Request, limit: int, hint: str = "") -> bytes:
    """The whole body; RequestError with this hint beyond `limit` bytes."""
    try:
        return await bodies.read(request, limit)
    except bodies.TooLarge:
        raise too_large(limit, hint) from None
    except ClientDisconnect:
        raise RequestError(BAD_REQUEST, "the request ended early") from None


def parse_json(
    text: bytes | str,
    what: str = "the request",
    parse_float: Callable[[str], Any] = float,
    malformed: Sentence = _MALFORMED,
) -> Any:
    """Parses JSON; RequestError if it is invalid (`malformed`: ksqlDB's sentence), or nested too
    deeply."""
    try:
        if _too_deep(text):
            raise RequestError(BAD_REQUEST, f"{what} is nested too deeply")
        # Texts of several lines are common with curl.
        return json.loads(text, parse_float=parse_float, parse_constant=_no_constant, strict=False)
    except (ValueError, RecursionError) as error:
        raise RequestError(BAD_REQUEST, f"{what} is not JSON: {error}", ksqldb=malformed) from None


def _too_deep(text: bytes | str) -> bool:
    """Whether arrays and objects are nested deeper than MAX_DEPTH. Uses whole passes over the text:
    a loop over characters would block the event loop."""
    content = text.encode("utf-8", "replace") if isinstance(text, str) else text
    brackets = _STRING.sub(b"", content).translate(_BRACKETS, _OTHERS)
    for _ in range(MAX_DEPTH):
        inner = brackets.replace(b"[]", b"")
        if len(inner) == len(brackets):
            break
        brackets = inner
    # Nothing remains of well-formed JSON; otherwise it is invalid, unless it is too deep before
    # that.
    return b"[]" in brackets or brackets.count(b"[") > MAX_DEPTH


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a value of JSON")
