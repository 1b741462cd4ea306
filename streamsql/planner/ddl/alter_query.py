"""ALTER QUERY .. SET: plans a query's statement again, with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import ConfigError, UnsupportedError
from streamsql.nodes import AlterQuery, CreateAsSelect, CreateMaterializedView, Property
from streamsql.parser import parse_one
from streamsql.planner.changes.keeping import moves_state
from streamsql.planner.ddl.control import check_runs
from streamsql.planner.operators import state_stores
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.properties import OF_QUERIES, SHUFFLE_PARTITIONS, resolve, validate

_SETTINGS = (*OF_QUERIES, SHUFFLE_PARTITIONS)


def plan_alter_query(statement: AlterQuery, planning: Planning) -> QueryStatementPlan:
    """The equivalent CREATE OR REPLACE."""
    create = replacement(statement, planning.catalog)
    session = {**planning.session, **settings(statement)}
    planned = plan_statement(create, replace(planning, session=session))
    assert isinstance(planned, QueryStatementPlan)
    check_moves(statement, planned.query)
    return planned


def check_moves(statement: AlterQuery, query: QueryPlan) -> None:
    """UnsupportedError if the state cannot be divided into another number of partitions."""
    for given in statement.properties:
        told = resolve(given.name).name == SHUFFLE_PARTITIONS
        if told and state_stores(query.root) and not moves_state(query.root):
            raise UnsupportedError(
                f"'{SHUFFLE_PARTITIONS}' of {statement.name} cannot change: of its state some is "
                "of GROUP BY over a stream, and some of other operators (class 3)",
                hint="DROP it and create it again: it then begins with empty state.",
                span=given.span,
            )


def replacement(statement: AlterQuery, catalog: Catalog) -> CreateAsSelect | CreateMaterializedView:
    """The query's statement, to be run with its properties and the new settings; BindError for an
    unknown query, UnsupportedError for one of an INSERT INTO."""
    check_runs(statement.name, catalog, statement.span)
    made = _made_by(statement.name, catalog)
    if made is None and (sink := catalog.sink_of(statement.name)) is not None:
        raise UnsupportedError(
            f"{statement.name} is that of a sink: ALTER QUERY is for CREATE .. AS SELECT",
            hint=f"SET the property, and use CREATE OR REPLACE SINK {sink}, which resumes the "
            "query.",
            span=statement.span,
        )
    if made is None:
        raise UnsupportedError(
            f"{statement.name} is an INSERT INTO: ALTER QUERY is for CREATE .. AS SELECT",
            hint="Use SET before the INSERT in a file, and `streamsql apply` it with the rest of "
            "the "
            "pipeline, which resumes the query.",
            span=statement.span,
        )
    create = parse_one(made.statement)
    assert isinstance(create, CreateAsSelect | CreateMaterializedView)
    return replace(create, or_replace=True, if_not_exists=False, span=statement.span)


def settings(statement: AlterQuery) -> Mapping[str, str]:
    """By canonical names; ConfigError for other properties."""
    return dict(_setting(given) for given in statement.properties)


def _setting(given: Property) -> tuple[str, str]:
    value = str(given.value).lower() if isinstance(given.value, bool) else str(given.value)
    definition = resolve(given.name)
    if definition.name not in _SETTINGS:
        raise ConfigError(
            f"'{definition.name}' cannot be changed for a running query",
            hint=f"ALTER QUERY sets {', '.join(_SETTINGS)}.",
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
