"""Plans of relational queries mean what the queries mean: tests/cases/relational."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

from streamsql.errors import StreamSQLError, render
from streamsql.planner.relational.algebra import (
    Pairs,
    Relation,
    RelationalPlan,
    Scan,
    SetOperation,
    TemporalJoin,
    relations,
)
from streamsql.planner.relational.dependent import expressions
from streamsql.planner.relational.planning import plan_query, plan_view, standard_plan
from tests import datadriven
from tests.datadriven import Case
from tests.relational import small
from tests.relational.duckdb_text import plan_text


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return small.database()


def shape(relation: Relation) -> str:
    """The operators alone."""
    name = type(relation).__name__
    if isinstance(relation, Scan):
        return relation.source
    if isinstance(relation, Pairs):
        on = "" if relation.equalities else " without equality"
        temporal = "TEMPORAL " if isinstance(relation, TemporalJoin) else ""
        name = f"{temporal}{relation.kind.value}{on}"
    if isinstance(relation, SetOperation):
        name = f"{relation.kind.value}{' ALL' if relation.all else ''}"
    return f"{name}({', '.join(shape(below) for below in relation.inputs)})"


def key_of(plan: RelationalPlan) -> str:
    if plan.key is None:
        return "none"
    return ", ".join(field.name for field in plan.key) or "one row"


@pytest.mark.parametrize("case", datadriven.cases("relational"))
def test_case(case: Case, rewrite: bool, database: duckdb.DuckDBPyConnection) -> None:
    handlers = {
        "plan": lambda c: _plan(c, database),
        "shape": _shape,
        "pull": _pull,
        "view": _view,
        "error": _error,
    }
    datadriven.check(case, handlers, rewrite)


def _plan(case: Case, database: duckdb.DuckDBPyConnection) -> str:
    """The plan's result is the query's."""
    plan = standard_plan(small.query(case.input), small.catalog())
    original = sqlglot.transpile(case.input, read="postgres", write="duckdb")
    expected = small.comparable(database.execute(original[0]).fetchall())
    assert small.comparable(database.execute(plan_text(plan)).fetchall()) == expected
    return f"{shape(plan.root)}\nkey: {key_of(plan)}"


def _shape(case: Case) -> str:
    """The plan of a view that DuckDB has no query for."""
    plan = plan_view(small.query(case.input), small.catalog())
    return f"{shape(plan.root)}\nkey: {key_of(plan)}"


def _pull(case: Case) -> str:
    """That of a SELECT."""
    return shape(plan_query(small.query(case.input), small.catalog()).root)


def _view(case: Case) -> str:
    """The expressions as Spark reads them."""
    plan = plan_view(small.query(case.input), small.catalog())
    lines = [
        f"{type(relation).__name__}: {'; '.join(e.sql(dialect='spark') for e in found)}"
        for relation in relations(plan.root)
        if (found := list(expressions(relation)))
    ]
    return "\n".join(lines)


def _error(case: Case) -> str:
    with pytest.raises(StreamSQLError) as raised:
        plan_view(small.query(case.input), small.catalog())
    return render(raised.value, case.input)


@pytest.mark.parametrize("direction", ["", "DESC"])
def test_a_session_frame_has_the_rows_between_gaps(
    direction: str, database: duckdb.DuckDBPyConnection
) -> None:
    rows = [(i, i % 3, None if i % 17 == 0 else i * i * 7 % 101) for i in range(200)]
    texts = (f"({i}, {g}, {'NULL' if x is None else x}::INT)" for i, g, x in rows)
    values = f"(VALUES {', '.join(texts)})"
    frame = f"PARTITION BY g ORDER BY x {direction} SESSION WITH GAP 2"
    query = (
        f"SELECT i, MIN(x) OVER ({frame}) AS a, MAX(x) OVER ({frame}) AS b, "
        f"COUNT(*) OVER ({frame}) AS n, RANK() OVER ({frame}) AS r FROM {values} AS v(i, g, x)"
    )
    plan = standard_plan(small.query(query), small.catalog())
    found = small.comparable(database.execute(plan_text(plan)).fetchall())
    assert found == small.comparable(_by_hand(rows, bool(direction)))


def _by_hand(rows: list[tuple[int, int, int | None]], descends: bool) -> list[tuple[object, ...]]:
    """Nulls are last in ascending order, and a session of their own."""
    result: list[tuple[object, ...]] = []
    for group in {g for _, g, _ in rows}:
        own = [(i, x) for i, g, x in rows if g == group]
        known = sorted(x for _, x in own if x is not None)
        ranks = sorted(known, reverse=descends)
        nulls = len(own) - len(known)
        for i, x in own:
            if x is None:
                result.append((i, None, None, nulls, 1 if descends else len(known) + 1))
                continue
            first = last = x
            while any(first - 2 <= k < first for k in known):
                first = min(k for k in known if first - 2 <= k < first)
            while any(last < k <= last + 2 for k in known):
                last = max(k for k in known if last < k <= last + 2)
            count = sum(first <= k <= last for k in known)
            place = ranks.index(x) + 1 + (nulls if descends else 0)
            result.append((i, first, last, count, place))
    return result
