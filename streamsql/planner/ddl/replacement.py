"""CREATE OR REPLACE .. AS SELECT: whether the new query can go on from the old one's state."""

from __future__ import annotations

from streamsql.catalog import Catalog, Source
from streamsql.errors import StreamSQLError, UnsupportedError
from streamsql.nodes import CreateAsSelect
from streamsql.parser import parse_one
from streamsql.planner.changes.classes import Change
from streamsql.planner.changes.queries import compare_plans
from streamsql.planner.ddl.sinks import sink_of
from streamsql.planner.joins.state_ttl import state_ttl
from streamsql.planner.plans.logical import LogicalPlan
from streamsql.planner.rules import optimize
from streamsql.planner.select.build import build_query
from streamsql.planner.with_clause.properties import Place, read_properties
from streamsql.types import quote


def check_query_upgrade(existing: Source, new: LogicalPlan, catalog: Catalog) -> None:
    """UnsupportedError where more changed than a checkpoint can go on from; `new` is the plan after
    the rules, with its Sink."""
    old = _old_plan(existing, catalog)
    if old is not None:
        check_goes_on(existing, compare_plans(old, new))


def check_goes_on(existing: Source, change: Change) -> None:
    """UnsupportedError for a change that the query's checkpoint cannot go on from.

    A filter before the state is one that it can: as in ksqlDB, the statement asks for what comes
    and not for what was.
    """
    if change.may_mix:
        return
    first, *others = change.decisive
    kind = f"class {change.change.value}, {change.change.meaning}"
    lines = [f"{first.effect}.", *(f"{d.clause}: {d.text}; {d.effect}." for d in others)]
    lines += [f"Were its state kept: {d.instead}." for d in change.decisive if d.instead]
    raise UnsupportedError(
        f"CREATE OR REPLACE cannot carry out this change of {existing.name} ({kind}): "
        f"{first.clause}: {first.text}",
        detail="\n".join(line[0].upper() + line[1:] for line in dict.fromkeys(lines)),
        hint="`streamsql apply` builds the query anew from the log beside the one that runs, and "
        f"switches; or DROP {existing.kind.value} {quote(existing.name)} and create it again.",
    )


def _old_plan(existing: Source, catalog: Catalog) -> LogicalPlan | None:
    """The plan of the query that fills the source; None if its text plans no more."""
    statement = parse_one(existing.statement)
    if not isinstance(statement, CreateAsSelect):
        return None
    try:
        ttl = state_ttl(read_properties(statement.properties, Place.CREATE_AS))
        built = build_query(statement.query, catalog, existing.name, ttl=ttl)
    except StreamSQLError:
        return None
    return optimize(sink_of(built.root, existing, catalog.types)).root
