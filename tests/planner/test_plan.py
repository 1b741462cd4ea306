"""What holds of plan and apply whatever the statement."""

from __future__ import annotations

from copy import deepcopy

import pytest
from planner.plan_script import Script, base_catalog

from streamsql.catalog import Catalog
from streamsql.errors import CatalogError
from streamsql.parser import parse
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan

STATEMENTS = [
    "CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON')",
    "CREATE STREAM x AS SELECT * FROM views WHERE duration > 1",
    "CREATE TABLE x AS SELECT page, COUNT(*) AS n FROM views GROUP BY page HAVING page > 'a'",
    "INSERT INTO orders SELECT * FROM orders",
    "SELECT EXPLODE(tags) FROM views EMIT CHANGES LIMIT 3",
    "DROP STREAM views",
    "ALTER STREAM views ADD COLUMN a INT",
    "CREATE TYPE t AS INT",
    "EXPLAIN SELECT * FROM views EMIT CHANGES",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_planning_changes_nothing(sql: str) -> None:
    catalog = base_catalog()
    before = deepcopy(catalog)
    (statement,) = parse(sql + ";")
    first = plan(statement, catalog, {})
    assert catalog == before
    assert plan(statement, catalog, {}) == first


def test_query_ids_count_the_queries() -> None:
    script = Script()
    ids = []
    for sql in (
        "CREATE STREAM a AS SELECT * FROM views;",
        "CREATE TABLE b AS SELECT page, COUNT(*) AS n FROM views GROUP BY page;",
        "INSERT INTO orders SELECT * FROM orders;",
        "CREATE STREAM c AS SELECT * FROM a;",
    ):
        planned = script.run(sql)
        assert isinstance(planned, QueryStatementPlan)
        ids.append(planned.query.query_id)
    assert ids == ["CSAS_A_0", "CTAS_B_1", "INSERTQUERY_2", "CSAS_C_3"]
    assert list(script.catalog.queries) == ids
    assert script.catalog.readers("VIEWS") == ["CSAS_A_0", "CTAS_B_1"]


def test_a_replayed_query_keeps_its_id() -> None:
    catalog = base_catalog()
    (statement,) = parse("CREATE STREAM a AS SELECT * FROM views;")
    planned = plan(statement, catalog, {}, query_id="CSAS_A_41")
    apply(planned, catalog)
    assert catalog.get("A").created_by_query == "CSAS_A_41"
    (later,) = parse("CREATE STREAM b AS SELECT * FROM views;")
    again = plan(later, catalog, {})
    assert isinstance(again, QueryStatementPlan)
    assert again.query.query_id == "CSAS_B_42"


def test_dropping_a_derived_stream_ends_its_query() -> None:
    script = Script()
    script.run("CREATE STREAM a AS SELECT * FROM views; DROP STREAM a;")
    assert script.catalog.queries == {}
    with pytest.raises(CatalogError):
        script.catalog.get("A")


def test_terminated_queries_no_longer_hold_their_sources() -> None:
    script = Script()
    script.run("CREATE STREAM a AS SELECT * FROM views; TERMINATE ALL; DROP STREAM views;")
    assert "VIEWS" not in script.catalog.sources


def test_a_copy_of_the_catalog_is_its_own() -> None:
    catalog = Catalog()
    other = catalog.copy()
    (statement,) = parse("CREATE TYPE t AS INT;")
    apply(plan(statement, other, {}), other)
    assert catalog == Catalog()
