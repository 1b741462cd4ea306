"""A catalog written as a script, and made of it again: tests/cases/catalog."""

from __future__ import annotations

import pytest
from datadriven import Case, cases, check

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import ParseError
from streamsql.log.entries import Entry
from streamsql.parser import parse_each, to_sql
from streamsql.planner.ddl.session import PropertyPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.processing_log import declare
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import apply, plan
from streamsql.runtime.export import catalog_script


def log_of(sql: str) -> list[Entry]:
    """What the engine's own session would have logged, in a Kafka without topics."""
    catalog, entries = Catalog(), []
    properties: dict[str, str] = {}
    variables: dict[str, str] = {}
    declare(catalog)
    for statement in parse_each(sql, variables):
        assert not isinstance(statement, ParseError), statement
        planned = plan(statement, catalog, properties, RememberedTopics({}))
        query = planned.query if isinstance(planned, QueryStatementPlan) else None
        text = to_sql(statement) + ";"
        query_id = query.query_id if query else None
        entries.append(Entry(len(entries) + 1, text, dict(properties), query_id))
        apply(planned, catalog)
        match planned, statement:
            case PropertyPlan(name=name, value=None), _:
                properties.pop(name, None)
            case PropertyPlan(name=name, value=str(value)), _:
                properties[name] = value
            case _, nodes.DefineVariable(name=name, value=value):
                variables[name.upper()] = value
    return entries


@pytest.mark.parametrize("case", cases("catalog"))
def test_export(case: Case, rewrite: bool) -> None:
    def export(case: Case) -> str:
        script = catalog_script(log_of(case.input))
        # The script of what the script makes is the script: nothing is lost by another round.
        again = catalog_script(log_of(script))
        assert statements(again) == statements(script)
        return script.split("\n\n", 1)[1]

    def statements(script: str) -> list[str]:
        return [line for line in script.splitlines() if not line.startswith("--")]

    check(case, {"export": export}, rewrite)


def test_a_log_of_thousands_of_statements_that_were_undone() -> None:
    stream = "CREATE STREAM s (x INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    sql = stream + "CREATE STREAM t AS SELECT x FROM s; DROP STREAM t;" * 300
    assert catalog_script(log_of(sql)).count(";") == 1
