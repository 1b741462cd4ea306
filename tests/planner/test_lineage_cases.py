"""The cases of tests/cases/lineage: what columns come from, by statements that are planned only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from datadriven import Case, cases, check
from planner.plan_script import Script

from streamsql.errors import StreamSQLError, render
from streamsql.nodes import LineageDirection, ShowLineage
from streamsql.parser import parse
from streamsql.planner.lineage.graph import Graph
from streamsql.planner.lineage.listing import Line, dependents, origins
from streamsql.planner.operators import Operator, Scan, operators
from streamsql.planner.plans.modes import lookups
from streamsql.planner.plans.statements import PullPlan, QueryStatementPlan
from streamsql.schema import Schema, is_hidden


class LineageScript(Script):
    """A script of which the plans of the queries are known."""

    def __init__(self) -> None:
        super().__init__()
        self.plans: dict[str, Operator] = {}

    def lines(self, statement: ShowLineage) -> list[Line]:
        graph = Graph(self.catalog, self.plans.__getitem__)
        look = origins if statement.direction is LineageDirection.OF else dependents
        return look(graph, statement.name, statement.column, statement.span)

    def shown(self, sql: str) -> list[str]:
        """What each SHOW LINEAGE gives; the others take effect."""
        found: list[str] = []
        for statement in parse(sql):
            if isinstance(statement, ShowLineage):
                found += map(_text, self.lines(statement))
                continue
            planned = self.run(f"{statement.text};")
            if isinstance(planned, QueryStatementPlan) and planned.query.query_id is not None:
                self.plans[planned.query.query_id] = planned.query.root
        return found


def _text(line: Line) -> str:
    """`A < S.B (topic s): IDENTITY, by CSAS_A_0`; `*` for all columns."""
    column, queries = line.column or "*", ", ".join(line.queries)
    if line.related is None or line.by is None:
        return f"{column}: of no column, by {queries}"
    place, topic = line.related, f" (topic {line.topic})" if line.topic else ""
    by = f", by {queries}" if queries else ""
    return f"{column}: {place.source}.{place.column or '*'}{topic} {line.by.value}{by}"


def _show(case: Case) -> str:
    return "\n".join(LineageScript().shown(case.input))


def _error(case: Case) -> str:
    try:
        LineageScript().shown(case.input)
    except StreamSQLError as error:
        return render(error, case.input)
    raise AssertionError(f"{case.id}: not rejected")


def _plan(case: Case) -> str:
    """Of the plan of a query that is not stored."""
    planned = Script().run(case.input)
    assert isinstance(planned, PullPlan | QueryStatementPlan)
    found = planned.query.root.lineage()
    lines = []
    for name in (*planned.query.schema.names, None):
        edges = found.influences if name is None else found.columns[name]
        texts = sorted(f"{e.source}.{e.column} {e.by.value}" for e in edges)
        lines.append(f"{name or '*'}: {', '.join(texts) or 'of no column'}")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases("planner"))
def test_all_columns_of_all_other_cases_come_from_columns_that_are_there(case: Case) -> None:
    script = LineageScript()
    try:
        planned = script.run(case.input)
    except StreamSQLError:
        return
    if not isinstance(planned, PullPlan | QueryStatementPlan):
        return
    plan = planned.query.root
    found = plan.lineage()
    assert {name for name in plan.schema.names if not is_hidden(name)} <= set(found.columns)
    read: dict[str, Schema] = {
        s.source.name: s.schema for s in operators(plan) if isinstance(s, Scan)
    }
    read |= {join.lookup.name: join.lookup.schema for join in lookups(plan)}
    assert found.reads == set(read)
    for edge in found.influences.union(*found.columns.values()):
        assert read[edge.source].find(edge.column) is not None


HANDLERS: Mapping[str, Callable[[Case], str]] = {"show": _show, "error": _error, "plan": _plan}


@pytest.mark.parametrize("case", cases("lineage"))
def test_case(case: Case, rewrite: bool) -> None:
    check(case, HANDLERS, rewrite)
