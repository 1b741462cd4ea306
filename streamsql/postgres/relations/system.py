"""Answers queries of pg_catalog and information_schema with an in-memory DuckDB, refilled when the
catalog has changed.

DuckDB is optional (`streamsql[postgres]`). Without it, such queries are rejected; the engine
handles `SELECT 1` and the few others without relations.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from decimal import Decimal
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from streamsql.api.language import lexemes
from streamsql.engine import Engine
from streamsql.postgres.client import Asker, System
from streamsql.postgres.errors import NOT_SUPPORTED, TOO_LARGE, PgError
from streamsql.postgres.forms import Column
from streamsql.postgres.relations import contents, fixed
from streamsql.postgres.relations.derived import derived
from streamsql.postgres.relations.expressions import Context, refused
from streamsql.postgres.relations.macros import FUNCTIONS, macros
from streamsql.postgres.relations.rewriting import rewritten
from streamsql.postgres.relations.schema import RELATIONS, TYPES, Rows, definitions, row
from streamsql.postgres.sql.texts import DATABASE
from streamsql.postgres.values import scalars
from streamsql.postgres.values.types import TEXT, PgType

_log = logging.getLogger("streamsql.postgres")
LONGEST_SECONDS = 5.0
MAX_ROWS = 100_000
MAX_BYTES = 32 * 1024 * 1024
"""Limits of one result, which is held in memory. DuckDB limits its own memory."""
PIECE_ROWS = 256
"""Rows that are read from DuckDB between two checks of the limits."""
AT_A_TIME = 4
"""Queries that run at a time; others wait."""
_CODECS = {
    "BOOLEAN": scalars.BOOL,
    "TINYINT": scalars.INT2,
    "SMALLINT": scalars.INT2,
    "INTEGER": scalars.INT4,
    "BIGINT": scalars.INT8,
    "USMALLINT": scalars.INT2,
    "UINTEGER": scalars.OID,
    "UBIGINT": scalars.OID,
    "HUGEINT": scalars.NUMERIC,
    "FLOAT": scalars.FLOAT4,
    "DOUBLE": scalars.FLOAT8,
    "VARCHAR": scalars.TEXT,
    "JSON": scalars.JSON,
    "DATE": scalars.DATE,
    "TIMESTAMP": scalars.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": scalars.TIMESTAMPTZ,
}
_CURSOR = {"statement": "", "is_holdable": True, "is_binary": False, "is_scrollable": False}
_VECTORS = {TYPES["v"]: scalars.INT2VECTOR, TYPES["w"]: scalars.OIDVECTOR}
"""Types unique to vectors, which distinguish them from arrays."""
_OWN_CLASSES = f"relnamespace = {fixed.PUBLIC}"
"""The system's own relations are not in pg_class here."""
_PLAIN = frozenset("( ) , . :: - +".split())
_OF_CALLS = frozenset("/ * % || = <> < > <= >=".split())
"""Tokens allowed between calls of system functions: other texts are the engine's."""
_SYSTEM_TYPE = re.compile('(?i)"?(reg[a-z]+|oid|name|char)"?')
_CLAUSE = re.compile("(?i)select|distinct|all|as|e")
"""Words that a text follows which is not a literal of a type."""
_READS = ("SELECT", "WITH", "VALUES", "TABLE")
_Answer = tuple[tuple[Column, ...], list[tuple[object, ...]]]


def system(engine: Engine) -> System:
    return Catalog(engine) if find_spec("duckdb") else Missing(engine)


class Missing:
    """The state without DuckDB."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def takes(self, text: str) -> bool:
        """Whether a statement reads the system's relations."""
        return asks_system(text, _own(self._engine), relations_only=True)

    def answer(self, text: str, asker: Asker) -> _Answer:
        raise PgError(
            NOT_SUPPORTED,
            "queries of the system catalog need DuckDB, which is not installed here",
            hint="pip install 'streamsql[postgres]', where the server runs.",
        )


class Catalog:
    """The state with DuckDB. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        """Held while the copy of the catalog is refreshed, not while a query runs."""
        self._turns = threading.BoundedSemaphore(AT_A_TIME)
        self._connection: Any = None
        self._seen: object = None
        self._oids: dict[str, int] = {}
        self._types: dict[str, int] = {}

    def takes(self, text: str) -> bool:
        """Whether a statement reads the system's relations, or needs none."""
        return asks_system(text, _own(self._engine))

    def answer(self, text: str, asker: Asker) -> _Answer:
        """The columns and rows of a query; PgError if it cannot be answered."""

        context = Context(asker.user, DATABASE, asker.process, _setting_of(asker), self._oid)
        with self._turns:
            with self._lock:
                self._refresh()
                connection = self._connection.cursor()
            with closing(connection):
                sql = rewritten(text, context)
                found, rows = self._run(connection, sql, _of_session(sql, asker), text)
                columns = tuple(Column(name, type_of(str(kind))) for name, kind, *_ in found)
        return columns, [_plain(row, columns) for row in rows]

    def _run(
        self, connection: Any, sql: str, session: dict[str, Rows], text: str
    ) -> tuple[Any, list[tuple[object, ...]]]:
        """The description and rows, over a copy of the catalog that includes a session's own
        relations. The transaction is never committed, so that other sessions do not see these."""
        import duckdb

        timer = threading.Timer(LONGEST_SECONDS, connection.interrupt)
        timer.start()
        connection.execute("BEGIN TRANSACTION" if session else "BEGIN TRANSACTION READ ONLY")
        try:
            _fill(connection, session)
            found = connection.execute(sql)
            return found.description, _bounded(found)
        except duckdb.InterruptException:
            raise refused(f"It took more than {LONGEST_SECONDS:.0f} seconds") from None
        except duckdb.Error as error:
            _log.info("a query of the system catalog failed: %s\n%s", error, text)
            raise refused(str(error).splitlines()[0]) from None
        finally:
            timer.cancel()
            connection.execute("ROLLBACK")

    def _oid(self, kind: str, name: str) -> int | None:
        if kind == "REGTYPE":
            return self._types.get(name)
        if kind == "REGNAMESPACE":
            names = {"public": fixed.PUBLIC, "pg_catalog": fixed.PG_CATALOG}
            return names.get(name)
        return self._oids.get(name, fixed.SYSTEM_OIDS.get(name))

    def _refresh(self) -> None:
        catalog = self._engine.catalog()
        if catalog is self._seen:
            return
        if self._connection is None:
            self._connection = self._made()
        relations = contents.relations_of(self._engine.inspection)
        # In one transaction: a query sees one catalog, the former or this one.
        self._connection.execute("BEGIN TRANSACTION")
        try:
            _fill(self._connection, contents.contents(relations))
            for statement in derived():
                self._connection.execute(statement)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._oids = contents.oids_of(relations)
        self._seen = catalog

    def _made(self) -> Any:
        import duckdb

        connection = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "256MB"})
        for statement in (*definitions(), *macros()):
            connection.execute(statement)
        # Clients' SQL has no access to files or the network.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        _fill(connection, fixed.fixed())
        rows = connection.execute("SELECT typname, oid FROM main.pg_type").fetchall()
        shown = connection.execute(
            "SELECT format_type(oid, NULL), oid FROM main.pg_type"
        ).fetchall()
        self._types = dict([*shown, *rows])
        return connection


def _fill(connection: Any, tables: dict[str, Rows]) -> None:
    for name, rows in tables.items():
        which = f" WHERE {_OWN_CLASSES}" if name == "pg_class" else ""
        connection.execute(f'DELETE FROM main."{name}"{which}')
        if rows:
            gaps = ", ".join("?" for _ in RELATIONS[name])
            connection.executemany(f'INSERT INTO main."{name}" VALUES ({gaps})', rows)


def _of_session(sql: str, asker: Asker) -> dict[str, Rows]:
    """Relations in a query whose rows differ by session."""
    found: dict[str, Rows] = {}
    if "pg_cursors" in sql:
        named = ({"name": name, **_CURSOR} for name in asker.cursors)
        found["pg_cursors"] = [row("pg_cursors", cursor) for cursor in named]
    if "pg_stat_gssapi" in sql:
        found["pg_stat_gssapi"] = [(asker.process, False, None, False)]
    if "pg_settings" in sql:
        found["pg_settings"] = contents.settings_rows(asker.settings)
    return found


def _bounded(found: Any) -> list[tuple[object, ...]]:
    """All rows of a result; PgError if it exceeds the limits."""
    rows: list[tuple[object, ...]] = []
    size = 0
    while piece := found.fetchmany(PIECE_ROWS):
        rows += piece
        size += sum(map(_size, piece))
        if len(rows) > MAX_ROWS:
            raise _too_large(f"{MAX_ROWS:,} rows")
        if size > MAX_BYTES:
            raise _too_large(f"{MAX_BYTES >> 20} MiB")
    return rows


def _size(value: object) -> int:
    """Approximate memory size of a value with its content."""
    match value:
        case tuple() | list():
            return sys.getsizeof(value) + sum(map(_size, value))
        case dict():
            return sys.getsizeof(value) + sum(map(_size, value)) + sum(map(_size, value.values()))
        case _:
            return sys.getsizeof(value)


def _too_large(bound: str) -> PgError:
    return PgError(
        TOO_LARGE,
        "the answer of this query of the system catalog is too large",
        detail=f"It has more than {bound}.",
        hint="Add a WHERE condition or a LIMIT, or select fewer columns.",
    )


def _setting_of(asker: Asker) -> Callable[[str], str]:
    return (lambda name: "") if asker.trial else asker.settings.get


def _own(engine: Engine) -> Callable[[str], bool]:
    """Whether a name belongs to a stream, table or view, and not to a system relation."""
    catalog = engine.catalog()

    def is_own(name: str) -> bool:
        known = any(
            n in names for n in (name.upper(), name) for names in (catalog.sources, catalog.views)
        )
        return known and name.lower() not in RELATIONS

    return is_own


def asks_system(text: str, is_own: Callable[[str], bool], *, relations_only: bool = False) -> bool:
    """Whether a statement reads relations of the system, or none at all and calls only system
    functions: pools send such statements to check a connection."""
    written = [
        (kind, piece) for kind, piece, _ in lexemes(text) if kind not in ("SPACE", "COMMENT")
    ]
    tokens = [(kind, piece) for kind, piece in written if kind != "TEXT_LITERAL"]
    words = [piece.lower() for kind, piece in tokens if kind in ("WORD", "QUOTED")]
    if not words or words[0].upper() not in _READS:
        return False
    bare = [word.strip('"') for word in words]
    named = [
        word
        for word in bare
        if (word.startswith("pg_") and word != "pg_typeof") or word == "information_schema"
    ]
    if any(not is_own(word) for word in named):
        return not relations_only or "from" in bare
    if relations_only or "from" in words or words[0] in ("with", "table", "values"):
        return False
    calls = _calls(tokens)
    if not calls and _converts(written):
        return False
    symbols = _PLAIN | _OF_CALLS if calls else _PLAIN
    return all(_is_plain(tokens, at, symbols) for at in range(1, len(tokens)))


def _converts(tokens: Sequence[tuple[str, str]]) -> bool:
    """Whether the statement makes values of the engine's types: `'1'::int`, `INTERVAL '1' DAY`; not
    `$1::int`, by which clients check a connection."""
    if any(piece == "$" for _, piece in tokens):
        return False
    for (_, piece), (kind, behind) in pairwise(tokens):
        if kind == "TEXT_LITERAL" and piece in ("+", "-"):
            return True
        if piece == "::" and not _SYSTEM_TYPE.fullmatch(behind):
            return True
        if kind == "TEXT_LITERAL" and re.fullmatch(r"\w+", piece) and not _CLAUSE.fullmatch(piece):
            return True
    return False


def _calls(tokens: Sequence[tuple[str, str]]) -> bool:
    return any(
        kind == "WORD" and piece.lower() in FUNCTIONS and behind == "("
        for (kind, piece), (_, behind) in pairwise(tokens)
    )


def _is_plain(tokens: Sequence[tuple[str, str]], at: int, symbols: frozenset[str]) -> bool:
    """Whether a token may be part of a SELECT that does not need the engine."""
    kind, piece = tokens[at]
    if kind == "SYMBOL":
        return piece in symbols
    if kind != "WORD":
        return kind in ("INTEGER_LITERAL", "DECIMAL_LITERAL", "QUOTED") or piece == "$"
    called = at + 1 < len(tokens) and tokens[at + 1][1] == "("
    if called:
        return piece.lower() in FUNCTIONS or piece.lower() == "version"
    return not re.fullmatch("(?i)emit|where|group|limit|order|union|case|is", piece)


def type_of(kind: str) -> PgType:
    """The type of a DuckDB column."""
    if kind in _VECTORS:
        return PgType(_VECTORS[kind])
    array = kind.endswith("[]")
    base = kind.removesuffix("[]")
    if base.startswith("DECIMAL"):
        return PgType(scalars.NUMERIC, array=array)
    return PgType(_CODECS.get(base, scalars.TEXT), array=array)


def _plain(row: Sequence[object], columns: Sequence[Column]) -> tuple[object, ...]:
    """Plain Python values: text columns are text, integers of NUMERIC are Decimals."""
    cells: list[object] = []
    for value, column in zip(row, columns, strict=True):
        if value is None or column.type.array:
            cells.append(value)
        elif column.type == TEXT:
            cells.append(str(value))
        elif column.type.codec is scalars.NUMERIC:
            cells.append(Decimal(str(value)))
        else:
            cells.append(value)
    return tuple(cells)
