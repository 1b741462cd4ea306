"""Warms up Spark's JVM while an engine has no query."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace

from streamsql.catalog import Catalog
from streamsql.errors import InternalError
from streamsql.parser import parse
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from streamsql.runtime.state import EngineState

_log = logging.getLogger("streamsql.warm_up")

# Typical parts of queries: decoding and encoding of both record sides, a filter, expressions. The
# first has the state of Spark's aggregation, the others our operators' state: one row per key as in
# joins, and several with timers.
_SCRIPTS = (
    """
CREATE STREAM E (K STRING KEY, N INT, T DOUBLE, S STRING)
  WITH (KAFKA_TOPIC='e', VALUE_FORMAT='JSON');
CREATE TABLE O WITH (KAFKA_TOPIC='o') AS
  SELECT K, COUNT(*) AS N, MAX(T * 2) AS T, LATEST_BY_OFFSET(UCASE(S)) AS S
  FROM E WHERE N >= 0 GROUP BY K;
""",
    """
CREATE TABLE E (K STRING PRIMARY KEY, N INT, T DOUBLE, S STRING)
  WITH (KAFKA_TOPIC='e', VALUE_FORMAT='JSON');
CREATE TABLE O WITH (KAFKA_TOPIC='o') AS SELECT K, N, T * 2 AS T, UCASE(S) AS S FROM E WHERE N >= 0;
""",
    """
CREATE STREAM E (K STRING KEY, N INT, T DOUBLE, S STRING)
  WITH (KAFKA_TOPIC='e', VALUE_FORMAT='JSON');
CREATE TABLE O WITH (KAFKA_TOPIC='o') AS
  SELECT K, COUNT(*) AS N, MAX(T) AS T FROM E WINDOW SESSION (1 MINUTE) GROUP BY K;
""",
)
KEY = "key-%d"
VALUE = '{"N": %1$d, "T": %1$d.5, "S": "text %1$d"}'
QUERY_ID = "_streamsql_warm_up"


def start_warm_up(state: EngineState) -> None:
    """Starts in a separate thread; stops by itself, and as soon as there is a query."""
    threading.Thread(target=_run, args=(state,), name="warm-up", daemon=True).start()


def planned() -> Iterator[QueryPlan]:
    """The warm-up queries, which belong to no user and no catalog."""
    for script in _SCRIPTS:
        catalog = Catalog()
        for statement in parse(script):
            made = plan(statement, catalog, {})
            apply(made, catalog)
        if not isinstance(made, QueryStatementPlan):
            raise InternalError("a warm-up script has no query at its end")
        yield replace(made.query, query_id=QUERY_ID)


def _run(state: EngineState) -> None:
    def wanted() -> bool:
        busy = state.queries.known() or state.pushes.topics()
        return not (busy or state.services.is_closing)

    if not wanted():
        return
    try:
        for query in planned():
            state.launcher.warm_up(query, KEY, VALUE, wanted)
    except Exception:
        # The engine was closed, or Spark has exited; the next user of Spark reports it.
        _log.debug("the warm-up failed", exc_info=True)
