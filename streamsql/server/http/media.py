"""Media types: accepted content types, and negotiation of the response form."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request

from streamsql.server.http.errors import NOT_ACCEPTABLE, UNSUPPORTED_MEDIA_TYPE, RequestError

KSQL_JSON = "application/vnd.ksql.v1+json"
JSON = "application/json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksql.v1+protobuf"
CONTENT_TYPES = frozenset({KSQL_JSON, JSON, DELIMITED, "application/x-www-form-urlencoded"})
"""The last one is curl's default."""


def accepted(request: Request, offered: Sequence[str]) -> str:
    """The first acceptable element of `offered`; RequestError if there is none. Without preference
    it is the first one."""
    header = request.headers.get("accept", "").strip()
    if not header:
        return offered[0]
    best, quality = "", 0.0
    for entry in header.split(","):
        name, q = _weighed(entry)
        found = _match(name, offered)
        if found and q > quality:
            best, quality = found, q
    if not best:
        raise RequestError(NOT_ACCEPTABLE, f"Not Acceptable: {header[:200]}")
    return best


def _weighed(entry: str) -> tuple[str, float]:
    name, *parameters = (part.strip().lower() for part in entry.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, float(value)
            except ValueError:
                return name, 0.0
    return name, 1.0


def _match(name: str, offered: Sequence[str]) -> str | None:
    if name in ("*/*", "*"):
        return offered[0]
    if name.endswith("/*"):
        return next((o for o in offered if o.startswith(name[:-1])), None)
    return name if name in offered else None


def check_content_type(request: Request) -> None:
    """Raises RequestError for a body that is declared as something other than JSON."""
    header = request.headers.get("content-type", "")
    name = header.split(";")[0].strip().lower()
    if name and name not in CONTENT_TYPES:
        raise RequestError(UNSUPPORTED_MEDIA_TYPE, f"Unsupported Media Type: {header[:200]}")
