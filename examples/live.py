"""The newest value of each key of a table, as a push query tells it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from streamsql.engine import Engine
from streamsql.errors import StreamSQLError
from streamsql.results import RowStream, Value

Key = tuple[Value, ...]


class LiveTable:
    """Follows a push query in a thread of its own, until closed.

    The first `key_columns` columns of the query are the key; a tombstone removes its row.
    """

    def __init__(self, engine: Engine, sql: str, key_columns: int) -> None:
        self._key_columns = key_columns
        self._rows: dict[Key, tuple[Value, ...]] = {}
        self._changed = threading.Condition()
        self._stream: RowStream | None = None
        self._closed = False
        self.changes = 0
        self.error: StreamSQLError | None = None
        self._thread = threading.Thread(target=self._follow, args=(engine, sql), daemon=True)
        self._thread.start()

    def _follow(self, engine: Engine, sql: str) -> None:
        try:
            for result in engine.execute(sql):
                assert isinstance(result, RowStream)
                self._stream = result
                if self._closed:
                    result.cancel()
                for row in result.rows:
                    self._put(row.values, row.tombstone)
        except StreamSQLError as error:
            with self._changed:
                self.error = error
                self._changed.notify_all()

    def _put(self, values: tuple[Value, ...], tombstone: bool) -> None:
        key = values[: self._key_columns]
        with self._changed:
            self.changes += 1
            if tombstone:
                self._rows.pop(key, None)
            else:
                self._rows[key] = values
            self._changed.notify_all()

    def rows(self) -> list[tuple[Value, ...]]:
        """All rows as they are now."""
        with self._changed:
            return list(self._rows.values())

    def wait_for(self, done: Callable[[Sequence[tuple[Value, ...]]], bool], timeout: float) -> bool:
        """Wait until the rows are as wanted, `timeout` seconds at most; whether they are.

        Raises the error of the query.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.error is not None or done(list(self._rows.values())), timeout
            )
            if self.error is not None:
                raise self.error
            return done(list(self._rows.values()))

    def close(self) -> None:
        """End the query."""
        self._closed = True
        if self._stream is not None:
            self._stream.cancel()
        self._thread.join(10)

    def __enter__(self) -> LiveTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
