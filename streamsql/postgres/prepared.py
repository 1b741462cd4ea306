"""Prepared statements: parameter types and result columns before values are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from streamsql.engine import Engine, Script
from streamsql.errors import StreamSQLError
from streamsql.postgres.errors import (
    NOT_SUPPORTED,
    PROTOCOL,
    SYNTAX,
    WRONG_BINARY,
    WRONG_VALUE,
    PgError,
    Placed,
)
from streamsql.postgres.forms import Column, columns_of, named
from streamsql.postgres.settings import NAMES
from streamsql.postgres.sql.commands import Command, Copy, Declare, command_of
from streamsql.postgres.sql.texts import (
    Piece,
    Template,
    TooManyParameters,
    Written,
    template,
)
from streamsql.postgres.values import scalars
from streamsql.postgres.values.literals import literal
from streamsql.postgres.values.types import TEXT, PgType, decoder, parameter_type, type_of
from streamsql.postgres.wire.messages import Bind, format_of
from streamsql.results import Field
from streamsql.session import Session

T = TypeVar("T")
REMEMBERED = 500
"""Cached statement types per catalog version."""
_SAMPLES = {
    "bool": "TRUE",
    "int2": "1",
    "int4": "1",
    "int8": "1",
    "oid": "1",
    "numeric": "1.0",
    "float4": "1E0",
    "float8": "1E0",
    "date": "'2000-01-01'",
    "time": "'00:00:00'",
    "timestamp": "'2000-01-01T00:00:00'",
    "timestamptz": "'2000-01-01T00:00:00'",
    "bytea": "TO_BYTES('00', 'hex')",
}
"""Sample literals for values during column inference."""
_TAG = re.compile(r"\s*(\w+)(?:\s+OR\s+REPLACE)?(?:\s+(\w+))?", re.IGNORECASE)
_NOT_PLAIN = ("bytea", "date", "time", "timestamp", "timestamptz", "json", "jsonb", "uuid")
_LOOKS = ("SHOW", "LIST", "DESCRIBE", "DESC", "EXPLAIN")
_WITH_OBJECT = ("CREATE", "DROP", "ALTER", "COMMENT")


@dataclass(frozen=True)
class Prepared:
    """One statement; `command` if it is the session's. `system`: a query of pg_catalog."""

    piece: Piece
    template: Template
    parameters: tuple[PgType, ...] = ()
    command: Command | None = None
    system: bool = False

    @property
    def empty(self) -> bool:
        return not self.piece.text.strip()

    @cached_property
    def looks(self) -> bool:
        """Whether it only reads the catalog, and must run to determine its columns."""
        return self.command is None and (self.system or self.tag in _LOOKS)

    @cached_property
    def tag(self) -> str:
        """Tag of CommandComplete, without counts."""
        found = _TAG.match(self.piece.text)
        if found is None:
            return ""
        first, second = found[1].upper(), (found[2] or "").upper()
        if first in ("WITH", "VALUES"):
            return "SELECT"
        return f"{first} {second}".strip() if first in _WITH_OBJECT else first

    def values(self, bind: Bind) -> tuple[str, ...]:
        """Parameter values as literals; PgError if invalid."""
        if len(bind.values) != len(self.parameters):
            raise PgError(
                PROTOCOL,
                f"bind message supplies {len(bind.values)} parameters, but the prepared "
                f"statement requires {len(self.parameters)}",
            )
        return tuple(
            _literal(index, given, kind, format_of(bind.formats, index))
            for index, (given, kind) in enumerate(zip(bind.values, self.parameters, strict=True))
        )


def system_samples(parameters: Sequence[PgType]) -> list[str]:
    """Sample literals for values of a system query during column inference. Texts are distinct,
    since JSON keys must be."""
    return [
        "NULL"
        if kind.array or kind.codec.name in _NOT_PLAIN
        else _SAMPLES.get(kind.codec.name, f"'{number}'")
        for number, kind in enumerate(parameters)
    ]


def _literal(index: int, given: bytes | None, kind: PgType, format: int) -> str:
    if given is None:
        return "NULL"
    try:
        return literal(decoder(kind, format)(given))
    except (ValueError, OverflowError, ArithmeticError) as error:
        code = WRONG_BINARY if format else WRONG_VALUE
        reason = "it is not UTF-8" if isinstance(error, UnicodeError) else str(error)
        raise PgError(
            code, f"invalid value for parameter ${index + 1} of type {kind.codec.name}: {reason}"
        ) from None


@dataclass
class Preparer:
    """Prepares the statements of one session, and determines their columns."""

    engine: Engine
    session: Session
    is_system: Callable[[str], bool]
    """Whether a statement is a query of pg_catalog and similar schemas."""
    _catalog: object = None
    _prepared: dict[tuple[object, ...], Prepared] = field(default_factory=dict)
    _types: dict[tuple[object, ...], tuple[PgType, ...]] = field(default_factory=dict)
    _columns: dict[tuple[object, ...], tuple[Column, ...] | None] = field(default_factory=dict)

    def known(self, piece: Piece, given: Sequence[int] = ()) -> Prepared | None:
        """As `prepare`, for cached statements; does not block."""
        self._forget()
        return self._prepared.get(self._prepared_key(piece, given))

    def prepare(self, piece: Piece, given: Sequence[int] = ()) -> Prepared:
        """A statement with the client's parameter types, 0 for unspecified ones. Blocks while it
        plans."""
        self._forget()
        key = self._prepared_key(piece, given)
        prepared = self._made(piece, given)
        _remember(self._prepared, key, prepared)
        return prepared

    def _prepared_key(self, piece: Piece, given: Sequence[int]) -> _Key:
        return (piece, *given, *self.session.properties.items())

    def _made(self, piece: Piece, given: Sequence[int]) -> Prepared:
        try:
            system = self.is_system(piece.text)
            found = template(piece, ours=not system)
        except TooManyParameters as error:
            raise PgError("42P02", str(error)) from None
        try:
            command = command_of(piece.text, NAMES)
        except ValueError as error:
            raise PgError(SYNTAX, str(error)) from None
        if isinstance(command, Declare | Copy) and found.parameters:
            raise PgError(NOT_SUPPORTED, "cursors and COPY take no parameters")
        if command is not None:
            return Prepared(piece, found, (), command)
        count = max(found.parameters, len(given))
        known = [_given(oid) for oid in (*given, *[0] * (count - len(given)))]
        if any(kind is None for kind in known):
            known = self._inferred(piece, found, known, system)
        return Prepared(piece, found, tuple(kind or TEXT for kind in known), system=system)

    def _inferred(
        self, piece: Piece, found: Template, known: list[PgType | None], system: bool
    ) -> list[PgType | None]:
        if system:
            casts = _casts(piece.text)
            return [kind or casts.get(number) for number, kind in enumerate(known, 1)]
        self._forget()
        key = (piece.text, *self.session.properties.items())
        types = self._types.get(key)
        if types is None:
            marked, marks = found.marked()
            expected = self._expected(marked, marks)
            types = tuple(
                _COUNT if number in found.counts else expected.get(number, TEXT)
                for number in range(1, len(known) + 1)
            )
            _remember(self._types, key, types)
        return [kind or inferred for kind, inferred in zip(known, types, strict=True)]

    def _expected(self, marked: str, marks: Mapping[int, str]) -> dict[int, PgType]:
        script = self.engine.parse(marked, self.session)
        if not script.statements:
            return {}
        found = self.engine.inspection.expected_types(
            script.statements[0], set(marks.values()), self.session
        )
        return {n: type_of(found[mark]) for n, mark in marks.items() if mark in found}

    def knows_columns(self, prepared: Prepared) -> bool:
        """Whether `columns` does not block."""
        self._forget()
        return self._columns_key(prepared) in self._columns

    def _columns_key(self, prepared: Prepared) -> _Key:
        oids = tuple(kind.oid for kind in prepared.parameters)
        return (prepared.piece.text, oids, *self.session.properties.items())

    def columns(self, prepared: Prepared) -> tuple[Column, ...] | None:
        """Result columns of a query; None otherwise. Blocks."""
        self._forget()
        key = self._columns_key(prepared)
        if key not in self._columns:
            samples = [_SAMPLES.get(kind.codec.name, "''") for kind in prepared.parameters]
            samples = [
                f"ARRAY[{sample}]" if kind.array else sample
                for sample, kind in zip(samples, prepared.parameters, strict=True)
            ]
            written = prepared.template.filled(samples)
            script = self.parsed(written)
            fields = self._fields(script, written)
            columns = None if fields is None else named(columns_of(fields), prepared.piece.text)
            _remember(self._columns, key, columns)
        return self._columns[key]

    def _fields(self, script: Script, written: Written) -> tuple[Field, ...] | None:
        try:
            return self.engine.inspection.columns(script.statements[0], self.session)
        except StreamSQLError as error:
            raise Placed(error, written.origin) from None

    def parsed(self, written: Written) -> Script:
        """The single statement of a text; errors have positions in the client's text."""
        script = self.engine.parse(written.text, self.session)
        if script.error is not None:
            raise Placed(script.error, written.origin)
        return script

    def _forget(self) -> None:
        catalog = self.engine.catalog()
        if catalog is not self._catalog:
            self._catalog = catalog
            self._prepared.clear()
            self._types.clear()
            self._columns.clear()


_Key = tuple[object, ...]
_COUNT = PgType(scalars.INT8)


def _given(oid: int) -> PgType | None:
    """The type that a client specifies; None for unspecified ones (`unknown` included)."""
    if oid in (0, 705):
        return None
    found = parameter_type(oid)
    if found is None:
        raise PgError(NOT_SUPPORTED, f"parameters of the type with OID {oid} are not supported")
    return found


_CAST = re.compile(r"\$(\d{1,5})\s*::\s*(?:pg_catalog\.)?(\w+)\s*(\[\s*\])?", re.IGNORECASE)
_BY_NAME = {codec.name: codec for codec in scalars.CODECS} | {
    "integer": scalars.INT4,
    "int": scalars.INT4,
    "bigint": scalars.INT8,
    "smallint": scalars.INT2,
    "boolean": scalars.BOOL,
    "regclass": scalars.TEXT,
}


def _casts(text: str) -> dict[int, PgType]:
    """The types to which parameters are cast."""
    found: dict[int, PgType] = {}
    for number, name, array in _CAST.findall(text):
        codec = _BY_NAME.get(name.lower())
        if codec is not None:
            found.setdefault(int(number), PgType(codec, array=bool(array)))
    return found


def _remember(known: dict[_Key, T], key: _Key, value: T) -> None:
    while len(known) >= REMEMBERED:
        known.pop(next(iter(known)))
    known[key] = value
