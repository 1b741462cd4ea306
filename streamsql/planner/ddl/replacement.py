"""CREATE OR REPLACE .. AS SELECT: whether the new query resumes from the old one's state, or is
rebuilt from the log."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.catalog import Catalog, Source
from streamsql.errors import StreamSQLError, UnsupportedError
from streamsql.nodes import CreateAsSelect, CreateMaterializedView
from streamsql.parser import parse_one
from streamsql.planner.changes.classes import Change, ChangeClass
from streamsql.planner.changes.keeping import keeps_state
from streamsql.planner.changes.partitions import growth_obstacle
from streamsql.planner.changes.queries import compare_plans
from streamsql.planner.changes.rebuilding import rebuild_obstacle
from streamsql.planner.changes.sources import as_known, compare_sources
from streamsql.planner.changes.users import users_of
from streamsql.planner.ddl.replacing import check_upgrade
from streamsql.planner.ddl.sinks import sink_of
from streamsql.planner.joins.state_ttl import state_ttl
from streamsql.planner.materialized import planned_view, sink_of_view
from streamsql.planner.operators import Operator
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.rules import optimize
from streamsql.planner.select.build import build_query
from streamsql.planner.with_clause.properties import Place, read_properties
from streamsql.types import quote


@dataclass(frozen=True)
class Replacement:
    """The existing and the desired query."""

    existing: Source
    sink: Source
    query: QueryPlan
    """After the rules, with its Sink."""
    statement: CreateAsSelect | CreateMaterializedView


def needs_rebuild(wanted: Replacement, catalog: Catalog) -> bool:
    """Whether the new query gets a new checkpoint, rebuilt or migrated, because its own state is
    incompatible; PlanError or UnsupportedError if that is impossible, too."""
    existing, users = wanted.existing, users_of(wanted.existing, catalog)
    old = _old_plan(existing, catalog)
    change = Change() if old is None else compare_plans(old, wanted.query.root)
    known = as_known(wanted.sink, existing, wanted.statement)
    in_the_way = growth_obstacle(existing, catalog)
    whole = change.and_also(compare_sources(existing, known, users, in_the_way).differences)
    writers = catalog.writers(existing.name)
    obstacle = rebuild_obstacle(existing, whole, old, wanted.query, users, writers)
    if old is not None and keeps_state(whole, old, wanted.query.root):
        obstacle = None
    needed = not whole.may_mix and whole.change is not ChangeClass.REFUSED
    if old is not None and needed and obstacle is None:
        return True
    check_upgrade(existing, wanted.sink, users)
    check_resumes(existing, change, obstacle)
    return False


def check_resumes(existing: Source, change: Change, obstacle: str | None) -> None:
    """Raises UnsupportedError for a change that the query's checkpoint does not support; `obstacle`
    is the reason against a rebuild. A changed filter before state is supported: as in ksqlDB, the
    statement applies to new records."""
    if change.may_mix:
        return
    first, *others = change.decisive
    kind = f"class {change.change.value}, {change.change.meaning}"
    lines = [f"{first.effect}.", *(f"{d.clause}: {d.text}; {d.effect}." for d in others)]
    lines += [f"Were its state kept: {d.instead}." for d in change.decisive if d.instead]
    if obstacle is not None:
        lines.append(f"It cannot be rebuilt from the log: {obstacle}.")
    raise UnsupportedError(
        f"CREATE OR REPLACE cannot carry out this change of {existing.name} ({kind}): "
        f"{first.clause}: {first.text}",
        detail="\n".join(line[0].upper() + line[1:] for line in dict.fromkeys(lines)),
        hint=f"DROP {existing.kind.value} {quote(existing.name)} and create it again.",
    )


def _old_plan(existing: Source, catalog: Catalog) -> Operator | None:
    """The plan of the query that fills the source; None if its text can no longer be planned."""
    statement = parse_one(existing.statement)
    try:
        if isinstance(statement, CreateMaterializedView):
            view, query_id = planned_view(statement, catalog), existing.created_by_query or ""
            return sink_of_view(view, existing.name, existing.topic, query_id, existing.statement)
        if not isinstance(statement, CreateAsSelect):
            return None
        ttl = state_ttl(read_properties(statement.properties, Place.CREATE_AS))
        built = build_query(statement.query, catalog, existing.name, ttl=ttl)
    except StreamSQLError:
        return None
    return optimize(sink_of(built.root, existing, catalog.types)).root
