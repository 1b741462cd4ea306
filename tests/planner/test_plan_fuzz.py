"""Random queries over the sources of base.sql: each gives a sound plan or an error for users."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planner.plan_script import base_catalog

from streamsql.errors import InternalError, StreamSQLError
from streamsql.parser import parse
from streamsql.planner.explain.plan import explain
from streamsql.planner.plans.invariants import problems
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan

COLUMNS = [
    *("user_id", "page", "viewed_at", "duration", "tags", "place", "place->city", "id", "item"),
    *("price", "counts", "name", "age", "line", "n", "ROWTIME", "ROWOFFSET", "WINDOWSTART", "nope"),
]
LITERALS = ["1", "2.5", "1e3", "'a'", "NULL", "TRUE", "ARRAY[1]", "MAP('a' := 1)", "STRUCT(a := 1)"]
OPERATORS = ["+", "-", "*", "/", "%", "=", "<>", "<", ">=", "AND", "OR", "LIKE", "||"]
CALLS = [
    *("COUNT(*)", "COUNT({})", "SUM({})", "MAX({})", "COLLECT_LIST({})", "EXPLODE({})"),
    *("LEN({})", "UCASE({})", "COALESCE({}, {})", "AS_VALUE({})", "CAST({} AS STRING)"),
    *("CASE WHEN {} THEN {} END", "NOT {}", "{} IS NULL", "{} IN ({}, {})", "-{}"),
    *("{} BETWEEN {} AND {}", "{}[1]", "TRANSFORM({}, x => x + {})", "NO_SUCH({})"),
]


def _call(template: str) -> st.SearchStrategy[str]:
    count = template.count("{}")
    arguments = st.lists(ATOMS, min_size=count, max_size=count)
    return arguments.map(lambda values: template.format(*values))


ATOMS = st.sampled_from(COLUMNS) | st.sampled_from(LITERALS)
EXPRESSIONS = st.recursive(
    ATOMS | st.sampled_from(CALLS).flatmap(_call),
    lambda inner: st.tuples(inner, st.sampled_from(OPERATORS), inner).map(
        lambda parts: f"({' '.join(parts)})"
    ),
    max_leaves=3,
)
SOURCES = st.sampled_from(["views", "orders", "users", "lines", "sessions", "hourly", "traced"])
WINDOWS = ["", "", "", "WINDOW TUMBLING (SIZE 1 MINUTE)", "WINDOW SESSION (1 MINUTE)"]
HEADS = ["", "", "CREATE STREAM x AS ", "CREATE TABLE x AS ", "INSERT INTO orders "]


def _clause(word: str, strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("") | st.just("") | strategy.map(lambda text: f"{word} {text}")


ITEMS = st.sampled_from(["*", "*, ROWTIME AS t", "place->*"]) | EXPRESSIONS
LISTS = st.lists(EXPRESSIONS, min_size=1, max_size=2).map(", ".join)
QUERIES = st.tuples(
    st.sampled_from(HEADS),
    st.just("SELECT"),
    st.lists(ITEMS, min_size=1, max_size=3).map(", ".join),
    SOURCES.map(lambda name: f"FROM {name}"),
    st.sampled_from(WINDOWS),
    _clause("WHERE", EXPRESSIONS),
    _clause("GROUP BY", LISTS),
    _clause("PARTITION BY", LISTS),
    _clause("HAVING", EXPRESSIONS),
    st.sampled_from(["EMIT CHANGES", "EMIT CHANGES", "EMIT FINAL"]),
).map(lambda parts: " ".join(part for part in parts if part) + ";")


@given(QUERIES)
def test_a_query_is_planned_soundly_or_rejected(sql: str) -> None:
    catalog = base_catalog()
    try:
        (statement,) = parse(sql)
        planned = plan(statement, catalog, {})
    except InternalError:
        raise
    except StreamSQLError as error:
        assert error.span is not None
        return
    assert isinstance(planned, QueryStatementPlan)
    assert list(problems(planned.query.root)) == []
    assert explain(planned.query, verbose=True)
    apply(planned, catalog)
    if planned.creates_sink:
        (again,) = parse("SELECT * FROM x EMIT CHANGES;")
        if not catalog.get("X").is_windowed:
            plan(again, catalog, {})


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("source", ["views", "orders", "users", "sessions"])
def test_group_by_any_column(source: str, column: str) -> None:
    """A key under each name there is, a system column's too."""
    catalog = base_catalog()
    sql = f"SELECT {column} AS k, COUNT(*) AS n FROM {source} GROUP BY {column} EMIT CHANGES;"
    try:
        (statement,) = parse(sql)
        planned = plan(statement, catalog, {})
    except InternalError:
        raise
    except StreamSQLError:
        return
    assert isinstance(planned, QueryStatementPlan)
    assert list(problems(planned.query.root)) == []
