"""Errors in the protocol's form: SQLSTATE, position, detail and hint."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from streamsql.errors import (
    BindError,
    CatalogError,
    ConfigError,
    EvaluationError,
    ExternalError,
    ForbiddenError,
    ParseError,
    PlanError,
    StreamSQLError,
    TypeMismatchError,
    UnsupportedError,
)

INTERNAL = "XX000"
SYNTAX = "42601"
NOT_SUPPORTED = "0A000"
PROTOCOL = "08P01"
CANCELLED = "57014"
FAILED_TRANSACTION = "25P02"
WRONG_PASSWORD = "28P01"
NOT_AUTHORIZED = "28000"
SHUTTING_DOWN = "57P01"
TOO_MANY = "53300"
TOO_LARGE = "54000"
NO_SUCH_CURSOR = "34000"
NO_SUCH_STATEMENT = "26000"
WRONG_VALUE = "22P02"
WRONG_BINARY = "22P03"
WRONG_SETTING = "22023"
NO_SUCH_SETTING = "42704"
BAD_COPY = "22P04"


class PgError(Exception):
    """An error of the protocol layer."""

    def __init__(
        self, code: str, message: str, *, hint: str | None = None, detail: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.detail = detail


class Placed(Exception):
    """An engine error in a rewritten text: `origin` maps its positions to the client's text."""

    def __init__(self, error: StreamSQLError, origin: Callable[[int], int]) -> None:
        super().__init__(str(error))
        self.error = error
        self.origin = origin


_CLASSES: tuple[tuple[type[StreamSQLError], str], ...] = (
    (ParseError, SYNTAX),
    (BindError, "42703"),
    (TypeMismatchError, "42804"),
    (CatalogError, "55000"),
    (ConfigError, WRONG_SETTING),
    (ForbiddenError, "42501"),
    (PlanError, "42000"),
    (EvaluationError, "22000"),
    (UnsupportedError, NOT_SUPPORTED),
    (ExternalError, "58000"),
)


@dataclass(frozen=True)
class _Finer:
    """Messages with a more specific code."""

    pattern: re.Pattern[str]
    code: str


_FINER: dict[type[StreamSQLError], tuple[_Finer, ...]] = {
    ExternalError: (_Finer(re.compile("^the server is busy"), TOO_MANY),),
    EvaluationError: (
        _Finer(re.compile("^division by zero"), "22012"),
        _Finer(re.compile("^(date|timestamp) out of range"), "22008"),
        _Finer(re.compile("out of range"), "22003"),
        _Finer(re.compile("^invalid input syntax"), WRONG_VALUE),
        _Finer(re.compile("^more than one row"), "21000"),
    ),
    BindError: (
        _Finer(
            re.compile("not a valid stream/table name|^(relation )?\\S+ does not exist"), "42P01"
        ),
        _Finer(re.compile("functions? with the name"), "42883"),
        _Finer(re.compile("ambiguous"), "42702"),
        _Finer(re.compile("unknown type|queryId"), "42704"),
    ),
    CatalogError: (
        _Finer(re.compile("does not exist"), "42P01"),
        _Finer(re.compile("exists already|already exists|same name"), "42P07"),
        _Finer(re.compile("^Cannot drop"), "2BP01"),
        _Finer(re.compile("^Incompatible data source|is a (stream|table|view)"), "42809"),
    ),
}


def code_of(error: StreamSQLError) -> str:
    """The SQLSTATE of an engine error."""
    for kind, code in _CLASSES:
        if isinstance(error, kind):
            finer = _FINER.get(kind, ())
            return next((f.code for f in finer if f.pattern.search(error.message)), code)
    return INTERNAL


def fields_of(
    error: BaseException,
    origin: Callable[[int], int] | None = None,
    severity: str = "ERROR",
) -> dict[str, str]:
    """The fields of an ErrorResponse. `origin` maps positions in the engine's text to the
    client's."""
    fields = {"S": severity, "V": severity}
    if isinstance(error, PgError):
        fields |= {"C": error.code, "M": error.message}
        detail, hint, place = error.detail, error.hint, None
    elif isinstance(error, StreamSQLError):
        fields |= {"C": code_of(error), "M": error.message}
        detail, hint = error.detail, error.hint
        place = None if error.span is None else error.span.start
    else:
        fields |= {"C": INTERNAL, "M": "an internal error: please report it"}
        detail = hint = place = None
    if detail:
        fields["D"] = detail
    if hint:
        fields["H"] = hint
    if place is not None and origin is not None:
        fields["P"] = str(origin(place) + 1)
    return fields


def notice_fields(text: str, severity: str = "NOTICE", code: str = "00000") -> dict[str, str]:
    """Fields of a NoticeResponse; `detail` has further lines."""
    first, _, rest = text.partition("\n")
    fields = {"S": severity, "V": severity, "C": code, "M": first}
    return fields | ({"D": rest} if rest else {})
