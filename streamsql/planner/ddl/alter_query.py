"""ALTER QUERY .. SET: a query's statement once more, with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import ConfigError, UnsupportedError
from streamsql.nodes import AlterQuery, CreateAsSelect, Property
from streamsql.parser import parse_one
from streamsql.planner.ddl.control import check_runs
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.properties import OF_QUERIES, SHUFFLE_PARTITIONS, resolve, validate


def plan_alter_query(statement: AlterQuery, planning: Planning) -> QueryStatementPlan:
    """The CREATE OR REPLACE that it comes to."""
    create = replacement(statement, planning.catalog)
    session = {**planning.session, **settings(statement)}
    planned = plan_statement(create, replace(planning, session=session))
    assert isinstance(planned, QueryStatementPlan)
    return planned


def replacement(statement: AlterQuery, catalog: Catalog) -> CreateAsSelect:
    """The statement of the query, to be run with its old properties and the new settings; BindError
    where there is no such query, UnsupportedError for one of an INSERT INTO."""
    check_runs(statement.name, catalog, statement.span)
    made = _made_by(statement.name, catalog)
    if made is None and (sink := catalog.sink_of(statement.name)) is not None:
        raise UnsupportedError(
            f"{statement.name} is that of a sink: ALTER QUERY is for CREATE .. AS SELECT",
            hint=f"SET the property, and CREATE OR REPLACE SINK {sink}: it goes on where it is.",
            span=statement.span,
        )
    if made is None:
        raise UnsupportedError(
            f"{statement.name} is an INSERT INTO: ALTER QUERY is for CREATE .. AS SELECT",
            hint="SET the property before the INSERT in a file, and `streamsql apply` it with the "
            "rest of what runs: the query goes on where it is.",
            span=statement.span,
        )
    create = parse_one(made.statement)
    assert isinstance(create, CreateAsSelect)
    return replace(create, or_replace=True, if_not_exists=False, span=statement.span)


def settings(statement: AlterQuery) -> Mapping[str, str]:
    """By canonical names; ConfigError for what is no setting of a running query."""
    return dict(_setting(given) for given in statement.properties)


def _setting(given: Property) -> tuple[str, str]:
    value = str(given.value).lower() if isinstance(given.value, bool) else str(given.value)
    definition = resolve(given.name)
    if definition.name == SHUFFLE_PARTITIONS:
        raise UnsupportedError(
            f"'{SHUFFLE_PARTITIONS}' of a query that has state cannot change (class 3: its state "
            "would be rewritten)",
            hint="DROP it and create it again: it then begins with empty state.",
            span=given.span,
        )
    if definition.name not in OF_QUERIES:
        raise ConfigError(
            f"'{definition.name}' is no setting of a query that runs",
            hint=f"ALTER QUERY sets {', '.join(OF_QUERIES)}.",
            span=given.span,
        )
    try:
        return validate(definition.name, value)
    except ConfigError as error:
        error.span = given.span
        raise


def _made_by(query_id: str, catalog: Catalog) -> Source | None:
    sources = catalog.sources.values()
    return next((s for s in sources if s.created_by_query == query_id), None)


@plan_statement.register
def _(statement: AlterQuery, planning: Planning) -> QueryStatementPlan:
    return plan_alter_query(statement, planning)
