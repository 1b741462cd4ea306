"""Makes Spark's JVM ready for the first query while an engine has none."""

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

# What many queries have: both sides of a record decoded and encoded, a filter, expressions. The
# state is Spark's aggregation's in the first, in the others our operators': one row of each key, as
# in joins, and many with timers.
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
    """Begin in a thread of its own; ends by itself, and at once when there is a query to run."""
    threading.Thread(target=_run, args=(state,), name="warm-up", daemon=True).start()


def planned() -> Iterator[QueryPlan]:
    """The queries that are run: no user's, and of no catalog."""
    for script in _SCRIPTS:
        catalog = Catalog()
        for statement in parse(script):
            made = plan(statement, catalog, {})
            apply(made, catalog)
        if not isinstance(made, QueryStatementPlan):
            raise InternalError("a script of the warm-up ends with no query")
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
        # The engine was closed, or Spark has died: whoever needs it hears of it.
        _log.debug("the warm-up has failed", exc_info=True)
