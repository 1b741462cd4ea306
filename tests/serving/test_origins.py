"""What a change of the catalog does to prepared lookups and compiled plans: it ends those that were
planned from what has changed, and no others. Of the JVM there is nothing here but counts."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from streamsql.catalog import Catalog, Source
from streamsql.executor.lowering import compiled_plan
from streamsql.parser import parse
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.statements import apply, plan
from streamsql.serving.compiled import CompiledPlans
from streamsql.serving.lookups import Lookups
from streamsql.serving.table import Found
from streamsql.serving.table_queries import TableQueries
from streamsql.session import Session

DEFINITIONS = """
CREATE SOURCE TABLE t (k STRING PRIMARY KEY, v INT) WITH
  (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1, KEY_FORMAT='KAFKA');
CREATE SOURCE TABLE u (k STRING PRIMARY KEY, v INT) WITH
  (KAFKA_TOPIC='u', VALUE_FORMAT='JSON', PARTITIONS=1, KEY_FORMAT='KAFKA');
CREATE TYPE pair AS STRUCT<a INT, b INT>;
CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE PYTHON AS 'x + x';
"""
OTHERS = """COMMENT ON TABLE u IS 'other'; DROP TABLE u; CREATE TYPE amount AS BIGINT;
CREATE FUNCTION thrice(x INT) RETURNS INT LANGUAGE PYTHON AS 'x * 3';
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"""
COMMENT = "COMMENT ON TABLE t IS 'own';"
DROPPED_VIEWS = "DROP VIEW shown; DROP VIEW doubled;"
VIEWS = """CREATE VIEW doubled AS SELECT k, v * 2 AS w FROM t;
CREATE VIEW shown AS SELECT k, w FROM doubled;"""
DROPPED = f"{DROPPED_VIEWS} DROP TABLE t;"
MADE_AGAIN = f"""{DROPPED} CREATE SOURCE TABLE t (k STRING PRIMARY KEY, v BIGINT) WITH
  (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1, KEY_FORMAT='KAFKA');"""
VIEW = f"{DROPPED_VIEWS} {VIEWS.replace('2', '3')}"
FUNCTION = "CREATE OR REPLACE FUNCTION twice(x INT) RETURNS INT LANGUAGE PYTHON AS '2 * x';"
TYPE = "DROP TYPE pair; CREATE TYPE pair AS STRUCT<c INT>;"

OF_T = "SELECT v FROM t WHERE k = 'a';"
OF_TYPE = "SELECT CAST(NULL AS pair) FROM t WHERE k = 'a';"
LOOKUPS = [
    (OF_T, OTHERS, True),
    (OF_T, VIEW + FUNCTION + TYPE, True),
    (OF_T, COMMENT, False),
    (OF_T, DROPPED, False),
    (OF_T, MADE_AGAIN, False),
    (OF_TYPE, OTHERS, True),
    (OF_TYPE, TYPE, False),
]
OF_VIEW, OF_FUNCTION = "SELECT w FROM shown;", "SELECT twice(v) FROM t;"
PLANS = [
    *((sql, change, kept) for sql, change, kept in LOOKUPS if change != DROPPED),
    (OF_VIEW, OTHERS + FUNCTION + TYPE, True),
    (OF_VIEW, VIEW, False),
    (OF_VIEW, MADE_AGAIN + VIEWS, False),
    (OF_FUNCTION, OTHERS + VIEW + TYPE, True),
    (OF_FUNCTION, FUNCTION, False),
]


def changed(catalog: Catalog, script: str) -> Catalog:
    """A copy with these statements applied, as an engine makes one of each statement."""
    for statement in parse(script):
        catalog = catalog.copy()
        apply(plan(statement, catalog, {}), catalog)
    return catalog


def planned(sql: str, catalog: Catalog) -> PullPlan:
    (statement,) = parse(sql)
    found = plan(statement, catalog, {})
    assert isinstance(found, PullPlan)
    return found


@pytest.fixture
def services() -> MagicMock:
    """Spark that compiles anything, and table stores that are complete and without rows."""
    services = MagicMock()
    query = services.spark.get().session.streamsql_bridge.tables_query
    query.return_value.run.return_value.next.return_value = None
    services.get().lookups().get.return_value = Found(None, [])
    return services


@pytest.mark.parametrize(("sql", "change", "kept"), LOOKUPS)
def test_prepared_lookups(
    sql: str, change: str, kept: bool, services: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[object] = []
    monkeypatch.setattr("streamsql.serving.prepared.release", released.extend)
    catalog, session = changed(Catalog(), DEFINITIONS + VIEWS), Session()
    lookups = Lookups(services, services, services, services)
    (statement,) = parse(sql)
    assert lookups.find(sql, statement, session, catalog) is not None
    assert lookups.find(sql, None, session, catalog) is not None, "it is not prepared"
    after = changed(catalog, change)
    assert (lookups.find(sql, None, session, after) is not None) is kept
    assert len(released) == (0 if kept else 1)


def test_a_shape_that_nothing_was_prepared_for_is_looked_at_again(services: MagicMock) -> None:
    catalog, session, sql = (
        changed(Catalog(), DEFINITIONS + VIEWS),
        Session(),
        "SELECT v FROM u WHERE k='a'",
    )
    lookups = Lookups(services, services, services, services)
    (statement,) = parse(f"{sql};")
    assert lookups.find(sql, statement, session, changed(catalog, OTHERS)) is None
    assert lookups.find(sql, statement, session, catalog) is not None


@pytest.mark.parametrize(("sql", "change", "kept"), PLANS)
def test_compiled_plans(
    sql: str, change: str, kept: bool, services: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_plan, "compiled_plan", lambda *_: object())
    catalog = changed(Catalog(), DEFINITIONS + VIEWS)
    plans = CompiledPlans(services, Path(), lambda: catalog)
    before = plans.get(planned(sql, catalog), {})
    assert plans.get(planned(sql, catalog), {}) is before
    catalog = changed(catalog, change)
    assert (plans.get(planned(sql, catalog), {}) is before) is kept


@pytest.mark.parametrize(("sql", "change", "kept"), PLANS)
def test_table_queries(
    sql: str, change: str, kept: bool, services: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[bool] = []

    def compile_(plan: PullPlan, *_: object, few: bool) -> tuple[object, list[Source]]:
        compiled.append(few)
        return object(), [catalog.get("T")]

    def run(*, few: bool) -> list[bool]:
        query = queries.compiled(planned(sql, catalog), {}, few=few)
        assert not list(queries.run(query, MagicMock(), None))
        return compiled

    monkeypatch.setattr(compiled_plan, "tables_plan", compile_)
    monkeypatch.setattr(compiled_plan, "table_reader", MagicMock())
    catalog = changed(Catalog(), DEFINITIONS + VIEWS)
    queries = TableQueries(services, Path(), lambda: catalog, 0)
    assert run(few=True) == run(few=True) == [True]
    # A query that is compiled for many rows serves for few, too.
    assert run(few=False) == run(few=True) == run(few=False) == [True, False]
    catalog = changed(catalog, change)
    assert len(run(few=True)) == (2 if kept else 3)
