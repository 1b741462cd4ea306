"""The classes of change, as a matrix: tests/cases/changes. What CREATE OR REPLACE takes follows."""

from __future__ import annotations

import pytest
from datadriven import Case, cases, check
from planner.plan_script import Script

from streamsql.catalog import Source
from streamsql.errors import StreamSQLError
from streamsql.planner.changes.classes import Change, ChangeClass
from streamsql.planner.changes.keeping import REWRITTEN, keeps_state
from streamsql.planner.changes.partitions import growth_obstacle
from streamsql.planner.changes.queries import compare_queries
from streamsql.planner.changes.sources import compare_sources
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SourcePlan

_RULE = "=>"


def _halves(case: Case) -> tuple[str, str]:
    before, found, after = case.input.partition(f"\n{_RULE}\n")
    assert found, f"{case.id}: no {_RULE} between what was and what is to be"
    return before, after


def _made(planned: Planned) -> Source:
    match planned:
        case SourcePlan(source=source) | QueryStatementPlan(sink=Source() as source):
            return source
    raise AssertionError(f"makes no stream or table: {planned}")


def _change(case: Case) -> str:
    """What becomes of the last statement's query and source, and whether OR REPLACE does it."""
    before, after = _halves(case)
    readers = [name for name in case.args.get("readers", "").split(",") if name]
    script = Script()
    old, new = script.run(before), Script().run(after)
    change, keeps = Change(), False
    if not (isinstance(old, QueryStatementPlan) and old.external):
        in_the_way = growth_obstacle(_made(old), script.catalog)
        change = compare_sources(_made(old), _made(new), readers, in_the_way)
    if isinstance(old, QueryStatementPlan) and isinstance(new, QueryStatementPlan):
        change = compare_queries(old.query, new.query).and_also(change.differences)
        keeps = not old.external and keeps_state(change, old.query.root, new.query.root)
    found = _replaced(before, after)
    assert (found == _GOES_ON) == change.may_mix or "elsewhere" in case.args
    if keeps and found == _REBUILT:
        found = "its state is rewritten"
    return f"{_shown(change, keeps)}\nor replace: {found}"


_GOES_ON = "continues"
_REBUILT = "is rebuilt"


def _replaced(before: str, after: str) -> str:
    """What becomes of the query by CREATE OR REPLACE where the one is there and the other is
    wanted."""
    script = Script()
    script.run(before)
    *settings, statement = after.rstrip(";").split(";\n")
    script.run("".join(f"{s};\n" for s in settings if s.startswith(("SET", "CREATE VIEW"))))
    try:
        planned = script.run(statement.replace("CREATE ", "CREATE OR REPLACE ", 1) + ";")
    except StreamSQLError:
        return "refused"
    rebuilt = isinstance(planned, QueryStatementPlan) and planned.rebuilds
    return _REBUILT if rebuilt else _GOES_ON


def _shown(change: Change, keeps: bool) -> str:
    lines = [f"{change.change.value} {REWRITTEN if keeps else change.change.meaning}"]
    for difference in change.differences:
        lines.append(
            f"{difference.change.value} {difference.clause}: {difference.text}"
            f" | {difference.effect}"
        )
        if difference.instead:
            lines.append(f"  kept: {difference.instead}")
    return "\n".join(lines)


@pytest.mark.parametrize("case", cases("changes"))
def test_case(case: Case, rewrite: bool) -> None:
    check(case, {"change": _change}, rewrite)


def test_the_matrix_has_every_class() -> None:
    found = [case.values[0].expected[:1] for case in cases("changes")]  # type: ignore[attr-defined]
    assert {str(int(c)) for c in ChangeClass} == set(found)
    assert len(found) >= 60
