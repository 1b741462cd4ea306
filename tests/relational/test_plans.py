"""Plans of relational queries mean what the queries mean: tests/cases/relational."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

from streamsql.errors import StreamSQLError, render
from streamsql.planner.relational.algebra import (
    Join,
    Relation,
    RelationalPlan,
    Scan,
    SetOperation,
    relations,
)
from streamsql.planner.relational.dependent import expressions
from streamsql.planner.relational.planning import plan_view, standard_plan
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
    if isinstance(relation, Join):
        on = "" if relation.equalities else " without equality"
        name = f"{relation.kind.value}{on}"
    if isinstance(relation, SetOperation):
        name = f"{relation.kind.value}{' ALL' if relation.all else ''}"
    return f"{name}({', '.join(shape(below) for below in relation.inputs)})"


def key_of(plan: RelationalPlan) -> str:
    if plan.key is None:
        return "none"
    return ", ".join(field.name for field in plan.key) or "one row"


@pytest.mark.parametrize("case", datadriven.cases("relational"))
def test_case(case: Case, rewrite: bool, database: duckdb.DuckDBPyConnection) -> None:
    handlers = {"plan": lambda c: _plan(c, database), "view": _view, "error": _error}
    datadriven.check(case, handlers, rewrite)


def _plan(case: Case, database: duckdb.DuckDBPyConnection) -> str:
    """The plan's result is the query's."""
    plan = standard_plan(small.query(case.input), small.catalog())
    original = sqlglot.transpile(case.input, read="postgres", write="duckdb")
    expected = small.comparable(database.execute(original[0]).fetchall())
    assert small.comparable(database.execute(plan_text(plan)).fetchall()) == expected
    return f"{shape(plan.root)}\nkey: {key_of(plan)}"


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
