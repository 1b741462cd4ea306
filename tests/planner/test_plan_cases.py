"""The cases of tests/cases/planner: statements to plans, rules, catalogs and rejections."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from datadriven import Case, cases, check
from planner.plan_script import Script, Topics

from streamsql.catalog import ExternalSink, Source
from streamsql.errors import StreamSQLError, render
from streamsql.planner.ddl.alter import AlterPlan
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.ddl.views import ViewPlan
from streamsql.planner.explain.plan import explain, tree_lines
from streamsql.planner.explain.pull import explain_pull
from streamsql.planner.operators.topics import topic_text
from streamsql.planner.plans.statements import (
    InsertValuesPlan,
    NothingToDo,
    Planned,
    PullPlan,
    QueryStatementPlan,
    SourcePlan,
)
from streamsql.planner.rules import RULES
from streamsql.planner.scopes.text import expression_text
from streamsql.types import to_sql, type_of


def _script(case: Case) -> Script:
    """`topics=a:1,b:2`: which topics exist, with how many partitions; without it no topic is looked
    up."""
    text = case.args.get("topics")
    if text is None:
        return Script()
    pairs = (entry.split(":") for entry in text.split(",") if entry)
    return Script(topics=Topics({name: int(count) for name, count in pairs}))


def _query(planned: Planned) -> QueryStatementPlan:
    assert isinstance(planned, QueryStatementPlan)
    return planned


def _explain(case: Case) -> str:
    """The last statement's plan, and what is said of it; with `verbose` after each rule."""
    planned = _script(case).run(case.input)
    if isinstance(planned, PullPlan):
        return explain_pull(planned, verbose="verbose" in case.args)
    query = _query(planned)
    text = explain(query.query, verbose="verbose" in case.args)
    return f"{text}\n\nWarning: {query.warning}" if query.warning else text


def _rule(case: Case) -> str:
    """The operators before and after one rule: `rule merge_filters`."""
    (name,) = case.args
    query = _query(_script(case).run(case.input)).query
    before = query.unoptimized
    assert before is not None
    for rule in RULES:
        after = rule(before)
        if rule.__name__ == name:
            return "\n".join([*tree_lines(before), "=>", *tree_lines(after)])
        before = after
    raise AssertionError(f"no rule {name}")


def _sources(case: Case) -> str:
    """The sources that the script adds or changes."""
    before = Script().catalog.sources
    script = _script(case)
    script.run(case.input)
    after = script.catalog.sources
    gone = [f"{name} is gone" for name in before if name not in after]
    return "\n".join([*gone, *(_source(s) for name, s in after.items() if before.get(name) != s)])


def _source(source: Source) -> str:
    read_only = "SOURCE " if source.is_source else ""
    lines = [f"{read_only}{source.kind.value} {source.name} ({source.schema})"]
    retention = source.topic.retention_ms
    kept = "" if retention is None else f", kept {retention} ms"
    return "\n  ".join([*lines, topic_text(source) + kept])


def _planned(case: Case) -> str:
    """The last statement's effect, in words."""
    planned = _script(case).run(case.input)
    match planned:
        case NothingToDo():
            return f"nothing to do: {planned.warning}"
        case SourcePlan():
            return f"{_source(planned.source)}{_flags(planned.create_topic, planned.replaces)}"
        case QueryStatementPlan(sink=sink) if sink is not None:
            return (
                f"{planned.query.query_id}: {_source(sink)}"
                f"{_flags(planned.create_topic, planned.replaces)}"
            )
        case QueryStatementPlan(external=ExternalSink() as sink):
            replaces = "\n  replaces" if planned.replaces else ""
            what = f"{sink.format} {f'to {sink.table}' if sink.table else 'files'}"
            return f"{sink.query_id}: {what} of {sink.reads} in {sink.path}{replaces}"
        case AlterPlan():
            return _source(planned.source)
        case DropPlan():
            topic = " and its topic" if planned.delete_topic else ""
            others = ", ".join([*(s.name for s in planned.others), *planned.views, *planned.sinks])
            also = f"; with it {others}" if others else ""
            return f"drop {planned.source.name}{topic}, terminate {list(planned.terminate)}{also}"
        case ViewPlan(view=None):
            return f"drop {', '.join((planned.name, *planned.others))}"
        case InsertValuesPlan():
            return _inserted(planned)
    return repr(planned)


def _flags(create_topic: bool, replaces: bool) -> str:
    words = [
        *(["creates the topic"] if create_topic else []),
        *(["replaces"] if replaces else []),
    ]
    return "".join(f"\n  {word}" for word in words)


def _inserted(planned: InsertValuesPlan) -> str:
    lines = [
        f"{name} = {expression_text(e)}: {to_sql(type_of(e))}"
        for name, e in zip(planned.columns, planned.expressions, strict=True)
    ]
    if planned.rowtime is not None:
        lines.append(f"ROWTIME = {expression_text(planned.rowtime)}")
    return "\n".join(lines)


def _error(case: Case) -> str:
    """The message a user reads for the last statement; the ones before it are accepted."""
    try:
        _script(case).run(case.input)
    except StreamSQLError as error:
        return render(error, case.input)
    raise AssertionError(f"{case.id}: not rejected")


HANDLERS: Mapping[str, Callable[[Case], str]] = {
    "explain": _explain,
    "rule": _rule,
    "sources": _sources,
    "plan": _planned,
    "error": _error,
}


@pytest.mark.parametrize("case", cases("planner"))
def test_case(case: Case, rewrite: bool) -> None:
    check(case, HANDLERS, rewrite)
