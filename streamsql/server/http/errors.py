"""Errors in ksqlDB's form: HTTP status and body.

An error code is the HTTP status times 100, plus a number. Every unsuccessful response has such a
body without stack traces. The message is streamsql's, followed by ksqlDB's sentence if it differs
(`streamsql.errors.told`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, Response

from streamsql.errors import ExternalError, ForbiddenError, InternalError, StreamSQLError, told
from streamsql.ksqldb import Sentence

BAD_REQUEST = 40000
BAD_STATEMENT = 40001
QUERY_ENDPOINT = 40002
"""A SELECT or PRINT was sent to the endpoint of other statements."""
TOO_MANY_QUERIES = 40003
UNAUTHORIZED = 40100
NO_TOKEN = 40101
"""A console page without session at a server without users."""
FORBIDDEN = 40300
NOT_FOUND = 40400
NOT_ACCEPTABLE = 40600
TOO_LARGE = 41300
UNSUPPORTED_MEDIA_TYPE = 41500
ASSERTION_FAILED = 41700
MISDIRECTED = 42100
TOO_MANY_REQUESTS = 42900
SERVER_ERROR = 50000
COMMAND_QUEUE_TIMEOUT = 50301
NOT_READY = 50302
SHUTTING_DOWN = 50303
RETRY_SECONDS = 5
"""Retry-After of early requests."""

GENERIC = "generic_error"
STATEMENT = "statement_error"
_BUG = "an internal error: please report it"


class RequestError(Exception):
    """A request that the server rejects before running any statement."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        ksqldb: Sentence | None = None,
    ) -> None:
        self.code = code
        self.message = f"{message}\n{ksqldb.text()}" if ksqldb else message
        super().__init__(self.message)
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Failure:
    """An error response; `body` can also be an element of a stream of rows."""

    code: int
    message: str
    type: str = GENERIC
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return self.code // 100

    @property
    def body(self) -> dict[str, Any]:
        return {
            "@type": self.type,
            "error_code": self.code,
            "message": self.message,
            **self.more,
        }

    def response(self) -> Response:
        return JSONResponse(self.body, self.status, headers=dict(self.headers))


def failure(
    error: BaseException,
    statement: str | None = None,
    entities: Sequence[Mapping[str, Any]] = (),
) -> Failure:
    """The failure of any error. `statement`: the text of its statement, if any; `entities`: the
    results of the preceding statements of the request."""
    if isinstance(error, RequestError):
        return Failure(error.code, error.message, headers=error.headers)
    if not isinstance(error, StreamSQLError):
        return Failure(SERVER_ERROR, _BUG)
    code = code_of(error)
    if code >= SERVER_ERROR or statement is None:
        headers = {"Retry-After": str(RETRY_SECONDS)} if code == NOT_READY else {}
        return Failure(code, told(error, statement), headers=headers)
    more = {"statementText": statement, "entities": list(entities)}
    return Failure(code, told(error, statement), STATEMENT, more)


def code_of(error: StreamSQLError) -> int:
    """Error code of a statement's error."""
    if isinstance(error, ExternalError):
        return NOT_READY if error.retryable else SERVER_ERROR
    if isinstance(error, InternalError):
        return SERVER_ERROR
    if isinstance(error, ForbiddenError):
        return FORBIDDEN
    return BAD_STATEMENT
