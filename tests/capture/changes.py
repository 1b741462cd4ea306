"""A table of a real database, and random changes of its rows in transactions."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import psycopg
from capture.reader import capture

KINDS = ("ink", "pen", "cap", "box", "bag", None)
COLUMNS = "id, kind, name, price, seen, due, ok, doc, body"
_NAMES = ("", "plain", 'quoted "twice"', "it's", "back\\slash", "zwei\nZeilen", "naïve ☕ 🖋", None)
_BEGAN = datetime(2024, 1, 1)
_ROLLED_BACK = 0.1
_LARGE = 0.3

TABLE = """
CREATE TABLE {0} (id BIGINT PRIMARY KEY, kind TEXT, name TEXT, price NUMERIC(12, 2) NOT NULL,
  seen TIMESTAMPTZ, due TIMESTAMP, ok BOOLEAN, doc JSONB, body TEXT);
ALTER TABLE {0} ALTER body SET STORAGE EXTERNAL;
ALTER TABLE {0} REPLICA IDENTITY {1};
"""
"""A body of more than about 2000 characters is stored out of line, and is in the database's log
only where it is written."""


class Changes:
    """Makes a table and changes it; the same for the same seed."""

    def __init__(self, conninfo: str, table: str, seed: int, *, full: bool) -> None:
        """`full`: the table's replica identity is FULL; else an update that changes the key writes
        the body, too, since nothing says what it is behind the old key."""
        self._connection = psycopg.connect(conninfo, autocommit=True, options="-c timezone=UTC")
        self._table, self._full = table, full
        self._dice = random.Random(seed)
        self._ids: list[int] = []
        self._free: list[int] = []
        self._next = 1
        self.made = 0
        """Changes that were committed."""
        self._connection.execute(TABLE.format(table, "FULL" if full else "DEFAULT").encode())
        capture(self._connection, table)

    def fill(self, count: int) -> None:
        """New rows."""
        with self._connection.pipeline(), self._connection.transaction():
            for _ in range(count):
                self._insert()
        self.made += count

    def transaction(self) -> None:
        """Up to 40 changes, which are committed or, now and then, rolled back."""
        count = self._dice.randint(1, 40)
        before = None
        if self._dice.random() < _ROLLED_BACK:
            before = list(self._ids), list(self._free)
        with self._connection.pipeline(), self._connection.transaction() as transaction:
            for _ in range(count):
                self._change()
            if before is not None:
                raise psycopg.Rollback(transaction)
        if before is None:
            self.made += count
        else:
            self._ids, self._free = before

    def _change(self) -> None:
        changes: tuple[Callable[[], None], ...]
        changes = (self._insert, self._delete, self._update, self._rewrite, self._move)
        # As many rows come as go; most updates leave the body alone.
        (change,) = self._dice.choices(changes, (20, 20, 40, 10, 10))
        change() if self._ids else self._insert()

    def _insert(self) -> None:
        id, dice = self._new_id(), self._dice
        seen = _BEGAN + timedelta(microseconds=dice.randrange(10**15))
        row = (
            *(id, dice.choice(KINDS), dice.choice(_NAMES), self._price()),
            *(dice.choice((seen, None)), dice.choice((seen, None))),
            *(dice.choice((True, False, None)), dice.choice(('{"a": [1, null]}', None))),
            self._body(),
        )
        values = ", ".join(["%s"] * len(row))
        self._run(f"INSERT INTO {self._table} ({COLUMNS}) VALUES ({values})", *row)
        self._ids.append(id)

    def _delete(self) -> None:
        id = self._taken()
        self._run(f"DELETE FROM {self._table} WHERE id = %s", id)
        self._free.append(id)

    def _update(self) -> None:
        row = (self._dice.choice(KINDS), self._price(), self._dice.choice(_NAMES))
        sql = f"UPDATE {self._table} SET kind = %s, price = %s, name = %s WHERE id = %s"
        self._run(sql, *row, self._dice.choice(self._ids))

    def _rewrite(self) -> None:
        sql = f"UPDATE {self._table} SET body = %s WHERE id = %s"
        self._run(sql, self._body(), self._dice.choice(self._ids))

    def _move(self) -> None:
        """Another key, be it one that was another row's before."""
        old, new = self._taken(), self._new_id()
        body = "" if self._full else ", body = %s"
        row = (new,) if self._full else (new, self._body())
        self._run(f"UPDATE {self._table} SET id = %s{body} WHERE id = %s", *row, old)
        self._free.append(old)
        self._ids.append(new)

    def _run(self, sql: str, *values: object) -> None:
        self._connection.execute(sql.encode(), values)

    def _new_id(self) -> int:
        if self._free and self._dice.random() < 0.5:
            return self._free.pop(self._dice.randrange(len(self._free)))
        self._next += 1
        return self._next

    def _taken(self) -> int:
        """An id that is a row's no more."""
        place = self._dice.randrange(len(self._ids))
        self._ids[place], self._ids[-1] = self._ids[-1], self._ids[place]
        return self._ids.pop()

    def _price(self) -> str:
        return f"{self._dice.randint(-100_000, 1_000_000) / 100:.2f}"

    def _body(self) -> str | None:
        if self._dice.random() < _LARGE:
            return self._dice.randbytes(1500).hex()
        return self._dice.choice(("short", "", None))

    def truncate(self) -> None:
        """No row is left."""
        self._run(f"TRUNCATE {self._table}")
        self._ids.clear()

    def close(self) -> None:
        """The table stays."""
        self._connection.close()
