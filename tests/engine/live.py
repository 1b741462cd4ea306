"""What the tests do with a running engine: statements, rows awaited, queries awaited."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import psutil
from awaiting import await_until
from engine.offline import texts
from engine.topic_rows import are_plain, rows_of

from streamsql.catalog import Source
from streamsql.engine import Engine, EngineConfig, QueryInfo, QueryState, Session
from streamsql.executor.queries.checkpoint import committed
from streamsql.executor.spark.gateway import GATEWAY_MAIN
from streamsql.results import LineStream, Result, Row, RowStream

PATIENCE = 120.0
"""Seconds: of a machine that does other things too."""
START_SECONDS = 240.0
_OF_COLUMNS = re.compile(r"SELECT (?P<columns>\*|\w+(, \w+)*) FROM \$(?P<name>\w+) EMIT CHANGES;")


class Restartable:
    """An engine that can be stopped and started again on its data folder."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.engine = Engine(config)

    def start(self) -> None:
        self.engine.start()
        self.engine.wait_until_ready(START_SECONDS)

    def restart(self) -> None:
        self.engine.close()
        self.engine = Engine(self.config)
        self.start()


class Live:
    """One test's view of the shared engine: names of its own, dropped at the end."""

    def __init__(self, restartable: Restartable) -> None:
        self._restartable = restartable
        self.session = Session()
        self.suffix = uuid.uuid4().hex[:8].upper()
        self._before = set(self.engine.catalog().sources)

    @property
    def engine(self) -> Engine:
        return self._restartable.engine

    def restart(self) -> None:
        """Stop the engine and start it again, for all tests that follow too."""
        self._restartable.restart()

    def kill_spark(self) -> None:
        """SIGKILL to its JVM, which the engine starts again."""
        for process in psutil.Process().children():
            if GATEWAY_MAIN in process.cmdline():
                process.kill()

    def name(self, name: str) -> str:
        """A stream's or topic's name that no other test uses."""
        return f"{name}_{self.suffix}"

    def run(self, sql: str) -> list[Result]:
        """Run statements; `$x` becomes a name of this test's own."""
        return list(self.engine.execute(self.sql(sql), self.session))

    def sql(self, sql: str) -> str:
        head, *rest = sql.split("$")
        parts = [head]
        for part in rest:
            length = next((i for i, c in enumerate(part) if not c.isalnum()), len(part))
            parts.append(self.name(part[:length].upper()) + part[length:])
        return "".join(parts)

    def texts(self, sql: str) -> list[str]:
        return texts(self.run(sql))

    def stream(self, sql: str) -> RowStream:
        """A push query."""
        (result,) = self.run(sql)
        assert isinstance(result, RowStream)
        return result

    def rows(self, sql: str, count: int) -> list[tuple[Any, ...]]:
        """The first rows of a push query. Plain columns of a query's sink are read from its topic:
        a push query for each look would take most of a test's time."""
        if (columns := self._columns(sql)) is not None:
            source, places = columns
            rows = islice(self._topic_rows(source), count)
            found = [tuple(row.values[place] for place in places) for row in rows]
            assert len(found) == count, f"only {len(found)} of {count} rows within {PATIENCE} s"
            return found
        stream = self.stream(sql)
        try:
            return [row.values for row in self.take(stream, count)]
        finally:
            stream.cancel()

    def _columns(self, sql: str) -> tuple[Source, list[int]] | None:
        """The sink whose columns the query selects, and their places in its schema; None for any
        other query."""
        selects = _OF_COLUMNS.fullmatch(sql)
        source = None if selects is None else self._plain(selects["name"])
        if selects is None or source is None:
            return None
        names = source.schema.names
        selected = names if selects["columns"] == "*" else selects["columns"].upper().split(", ")
        known = all(name in names for name in selected)
        return (source, [names.index(name) for name in selected]) if known else None

    def _plain(self, name: str) -> Source | None:
        source = self.engine.catalog().sources.get(self.name(name.upper()))
        return source if source is not None and are_plain(source) else None

    def _topic_rows(self, source: Source) -> Iterator[Row]:
        """Rows as they come, for as long as a test waits."""
        kafka, deadline = self.engine._state.services.kafka.get(), time.monotonic() + PATIENCE
        records = kafka.consume(source.topic.name, stop=lambda: time.monotonic() > deadline)
        return rows_of(source, records)

    def take(self, stream: RowStream, count: int) -> list[Row]:
        """The next rows of a push query; fails if they do not come in time."""
        late = threading.Timer(PATIENCE, stream.cancel)
        late.start()
        try:
            found = [row for _, row in zip(range(count), stream.rows, strict=False)]
        finally:
            late.cancel()
        assert len(found) == count, f"only {len(found)} of {count} rows within {PATIENCE} s"
        return found

    def table(self, name: str, done: Callable[[dict[Any, Any]], bool]) -> dict[Any, Any]:
        """A table's rows by their first column, once they are as `done` wants them."""
        source = self._plain(name)
        if source is not None:
            return _collected(self._topic_rows(source), done)
        stream = self.stream(f"SELECT * FROM ${name} EMIT CHANGES;")
        late = threading.Timer(PATIENCE, stream.cancel)
        late.start()
        try:
            return _collected(stream.rows, done)
        finally:
            late.cancel()
            stream.cancel()

    def lines(self, sql: str) -> Iterator[str]:
        """The lines of PRINT, ended by its LIMIT."""
        (result,) = self.run(sql)
        assert isinstance(result, LineStream)
        return result.lines

    def query(self, query_id: str) -> QueryInfo:
        return next(q for q in self.engine.queries() if q.id == query_id)

    def await_state(self, query_id: str, state: QueryState) -> None:
        await_until(
            lambda: self.query(query_id).state is state,
            f"{query_id} to be {state.value}",
            PATIENCE,
        )

    def await_lag(self, query_id: str, lag: int) -> None:
        await_until(lambda: self.query(query_id).lag == lag, f"{query_id}'s lag {lag}", PATIENCE)

    def committed(self, query_id: str, source: str) -> dict[int, int]:
        """By partition, the offset up to which a query has committed of a topic of this test."""
        folder = self._restartable.config.data_dir
        assert folder is not None
        found = committed(folder / "checkpoints" / query_id) or {}
        return found.get(self.name(source), {})

    def drop_all(self) -> None:
        """Drop what the test has made, readers before what they read."""
        if any(query.kind == "PERSISTENT" for query in self.engine.queries()):
            list(self.engine.execute("TERMINATE ALL;"))
        made = [s for s in self.engine.catalog().sources.values() if s.name not in self._before]
        sql = "".join(f"DROP {s.kind.value} `{s.name}`;\n" for s in reversed(made))
        if sql:
            list(self.engine.execute(sql))


def _collected(rows: Iterable[Row], done: Callable[[dict[Any, Any]], bool]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for row in rows:
        if row.tombstone:
            found.pop(row.values[0], None)
        else:
            found[row.values[0]] = row.values[1:]
        if done(found):
            return found
    raise AssertionError(f"not within {PATIENCE} s; last seen: {found}")
