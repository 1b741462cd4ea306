"""What a server answers, as text that can be compared with what another one answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import psycopg
from psycopg import pq

NULL, EMPTY = r"\N", "''"
_NAMED = re.compile(r"<(\w+)>")
_NUMBER = re.compile(r"\d{4,}")
_FIRST_OWN = 16_384
"""Of the OIDs that users' objects have."""
_OIDS = """
SELECT oid, relname FROM pg_catalog.pg_class WHERE relnamespace = 2200
UNION ALL SELECT oid, 'constraint ' || conname FROM pg_catalog.pg_constraint WHERE conrelid <> 0
UNION ALL SELECT 2200, 'public'
"""
_TEXTS = ("name", "char", "varchar", "bpchar", "regproc", "pg_node_tree")
_SAME = {
    **dict.fromkeys((*_TEXTS, "anyarray"), "text"),
    **{f"{name}[]": "text[]" for name in (*_TEXTS, "aclitem")},
    "xid": "int8",
}
"""Types of PostgreSQL's that only its catalog has, and what ours has instead."""


@dataclass(frozen=True)
class Answered:
    """The columns (name and type) and the cells of a result, as text. Without columns: what the
    statement did."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """A line of columns and a line a row."""
        head = " | ".join(f"{name}:{kind}" for name, kind in self.columns)
        return "\n".join([head, *(" | ".join(row) for row in self.rows)]).strip()

    def kinds(self) -> tuple[tuple[str, str], ...]:
        """The columns, with one type for all that are text to a client."""
        return tuple((name, _SAME.get(kind, kind)) for name, kind in self.columns)


def parsed(text: str) -> Answered:
    """What `Answered.text` has written."""
    head, *rows = text.split("\n")
    columns = [column.rpartition(":") for column in head.split(" | ")] if head else []
    return Answered(
        tuple((name, kind) for name, _, kind in columns),
        tuple(tuple(row.split(" | ")) for row in rows),
    )


@dataclass
class Answers:
    """One connection. OIDs of users' objects, which differ from server to server, are the names of
    their objects: in queries between angle brackets, as in what is answered."""

    where: str
    _connection: psycopg.Connection = field(init=False)
    _types: dict[int, str] = field(init=False)
    _oids: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._connection = psycopg.connect(self.where, autocommit=True)
        self._types = {}
        found = self._connection.execute(
            "SELECT t.oid, t.typname, e.typname FROM pg_catalog.pg_type t "
            "LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid"
        )
        for oid, name, element in found:
            self._types[int(oid)] = name if element is None else f"{element}[]"
        self._oids = {str(oid): name for oid, name in self._connection.execute(_OIDS)}

    def close(self) -> None:
        self._connection.close()

    def ask(self, query: str) -> Answered:
        """The last result of a text with rows, else of its last statement; psycopg.Error."""
        numbers = {name: oid for oid, name in self._oids.items()}
        text = _NAMED.sub(lambda found: numbers[found[1]], query)
        cursor = psycopg.ClientCursor(self._connection)
        cursor.execute(text.encode())
        results = [cursor.pgresult]
        while cursor.nextset():
            results.append(cursor.pgresult)
        found = [r for r in results if r is not None and r.status == pq.ExecStatus.TUPLES_OK]
        if not found:
            return Answered(((cursor.statusmessage or "", "done"),), ())
        return self._read(found[-1])

    def _read(self, result: pq.abc.PGresult) -> Answered:
        places = range(result.nfields)
        columns = tuple(
            ((result.fname(at) or b"").decode(), self._types.get(result.ftype(at), "?"))
            for at in places
        )
        rows = [
            tuple(self._cell(result.get_value(row, at)) for at in places)
            for row in range(result.ntuples)
        ]
        return Answered(columns, tuple(rows))

    def _cell(self, value: bytes | None) -> str:
        if value is None:
            return NULL
        text = value.decode().replace("\n", "\\n") or EMPTY
        return _NUMBER.sub(lambda found: self._named(found[0]), text)

    def _named(self, number: str) -> str:
        name = self._oids.get(number) if int(number) >= _FIRST_OWN else None
        return number if name is None else f"<{name}>"
