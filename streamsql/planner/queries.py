"""Statements with a query: CREATE .. AS SELECT, INSERT INTO .. SELECT and SELECT."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import (
    CatalogError,
    ConfigError,
    PlanError,
    StreamSQLError,
    UnsupportedError,
)
from streamsql.ksqldb import says
from streamsql.nodes import CreateAsSelect, Emit, InsertInto, Query, SelectQuery
from streamsql.planner.ddl.constraints import declared_constraints
from streamsql.planner.ddl.replacement import Replacement, needs_rebuild
from streamsql.planner.ddl.replacing import check_name_is_free
from streamsql.planner.ddl.sinks import new_sink, sink_of
from streamsql.planner.ddl.sources import already_exists, check_source_name
from streamsql.planner.ddl.topics import Growth
from streamsql.planner.joins.state_ttl import check_ttl_is_used, growth_warning, state_ttl
from streamsql.planner.operators import Derived, Limit, Named, Operator, Project, Sink, operators
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.guarantee import Guarantee, guarantee
from streamsql.planner.plans.modes import decide_mode, follows_epochs, lookups, sources_read
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.planner.plans.starts import starts_of
from streamsql.planner.plans.statements import NothingToDo, PullPlan, QueryStatementPlan
from streamsql.planner.pull.as_of import check_no_as_of, with_as_of
from streamsql.planner.pull.planning import plan_pull
from streamsql.planner.pull.standard import is_common, is_standard, plan_standard_pull
from streamsql.planner.relational.functions import UnknownFunctionError
from streamsql.planner.rules import optimize
from streamsql.planner.select.build import Built, build_query
from streamsql.planner.select.checks import CHECKS
from streamsql.planner.select.limits import note_limits
from streamsql.planner.types.inference import coerce
from streamsql.planner.with_clause.changes import check_writable
from streamsql.planner.with_clause.properties import Place, read_properties
from streamsql.planner.with_clause.query_ids import insert_query_id, numbered_id
from streamsql.properties import (
    CREATE_OR_REPLACE,
    EMIT_FINAL,
    GUARANTEE,
    PROCESSING_MODE,
    SHUFFLE_PARTITIONS,
    get_bool,
    get_text,
)
from streamsql.schema import Column, Kind, Schema
from streamsql.types import quote, widens_to


def plan_create_as(
    statement: CreateAsSelect, planning: Planning
) -> QueryStatementPlan | NothingToDo:
    catalog = planning.catalog
    check_source_name(statement.name)
    existing = catalog.sources.get(statement.name)
    if existing is not None and statement.if_not_exists:
        return NothingToDo(already_exists(existing))
    replacing = get_bool(planning.session, CREATE_OR_REPLACE) is not False
    check_name_is_free(existing, statement, replacing)
    _check_persistent(statement.query, f"CREATE {statement.kind.value} AS SELECT")
    growth = Growth.of(existing, catalog) if existing is not None else None
    properties = read_properties(statement.properties, Place.CREATE_AS)
    built = build_query(statement.query, catalog, statement.name, ttl=state_ttl(properties))
    check_ttl_is_used(built.root, properties)
    _check_kind(built, statement)
    _check_no_loop(built, statement)
    prefix = "CSAS" if statement.kind is Kind.STREAM else "CTAS"
    query_id = planning.query_id or _replaced_id(existing, catalog)
    query_id = query_id or numbered_id(f"{prefix}_{statement.name.upper()}", catalog)
    sink, create_topic = new_sink(
        statement,
        built,
        properties,
        planning.session,
        planning.topics,
        query_id,
        planning.schemas,
        growth,
    )
    if existing is not None:
        _check_single_writer(existing, catalog)
    sink = replace(
        sink, constraints=declared_constraints(statement.constraints, sink, catalog.types)
    )
    root = sink_of(built.root, sink, catalog.types)
    query = query_plan(root, statement.query, built, planning, query_id)
    rebuilds = planning.rebuilds
    if existing is not None and not rebuilds:
        rebuilds = needs_rebuild(Replacement(existing, sink, query, statement), catalog)
    return QueryStatementPlan(
        query,
        sink,
        creates_sink=True,
        create_topic=create_topic,
        replaces=existing is not None,
        statement=statement,
        warning=growth_warning(root, properties),
        rebuilds=rebuilds,
    )


def plan_insert_into(statement: InsertInto, planning: Planning) -> QueryStatementPlan:
    if statement.columns or statement.returning:
        raise UnsupportedError(
            "A list of columns and RETURNING are for INSERT into a plain table.",
            span=statement.span,
        )
    target = _insert_target(statement, planning.catalog)
    _check_persistent(statement.query, "INSERT INTO")
    properties = read_properties(statement.properties, Place.INSERT)
    built = build_query(statement.query, planning.catalog, target.name, ttl=state_ttl(properties))
    check_ttl_is_used(built.root, properties)
    built = _fitted(built, target, statement)
    query_id = planning.query_id or insert_query_id(statement, planning.catalog)
    root = sink_of(built.root, target, planning.catalog.types)
    query = query_plan(root, statement.query, built, planning, query_id)
    warning = growth_warning(root, properties)
    return QueryStatementPlan(
        query, target, replaces=planning.replaces, statement=statement, warning=warning
    )


def plan_select(statement: SelectQuery, planning: Planning) -> QueryStatementPlan | PullPlan:
    planned = _plan_select(statement, planning)
    if statement.as_of is None or not isinstance(planned, PullPlan):
        check_no_as_of(statement)
        return planned
    return with_as_of(planned, statement.as_of, planning)


def _plan_select(statement: SelectQuery, planning: Planning) -> QueryStatementPlan | PullPlan:
    query = statement.query
    if is_standard(query, planning):
        if is_common(query):
            with contextlib.suppress(StreamSQLError):  # which the standard words
                return plan_pull(statement, planning)
        try:
            return plan_standard_pull(statement, planning)
        except (UnsupportedError, UnknownFunctionError) as error:
            # What the standard has not, as MATCH_RECOGNIZE or UCASE, the dialect may.
            with contextlib.suppress(StreamSQLError):
                return plan_pull(statement, planning)
            raise error from None
    if query.emit is None:
        return plan_pull(statement, planning)
    built = build_query(query, planning.catalog, None)
    root: Operator = built.root
    if query.limit is not None:
        if query.limit < 0:
            raise PlanError(
                "LIMIT must not be negative", hint="Give an integer of 0 or more.", span=query.span
            )
        root = Limit(root, query.limit)
    plan = _by_epochs(query_plan(root, query, built, planning, None), planning)
    return QueryStatementPlan(plan, statement=statement, warning=growth_warning(root, None))


def _by_epochs(plan: QueryPlan, planning: Planning) -> QueryPlan:
    """A push query over views gives whole epochs, unless the session requests real time."""
    wanted = get_text(planning.session, PROCESSING_MODE)
    if wanted == "realtime" or not follows_epochs(plan.root):
        return plan
    mode = ModeDecision(Mode.MICRO_BATCH, "each of its batches is an epoch of its views")
    return replace(plan, mode=mode, by_epochs=True)


def query_plan(
    root: Operator, query: Query, built: Built, planning: Planning, query_id: str | None
) -> QueryPlan:
    """The plan of a query, checked and optimized; `root` adds the target of its rows. Raises a
    StreamSQLError for unsupported queries."""
    emit = query.emit or Emit.CHANGES
    if emit is Emit.FINAL and get_bool(planning.session, EMIT_FINAL) is False:
        raise ConfigError(
            f"EMIT FINAL is switched off by '{EMIT_FINAL}'",
            span=query.span,
            ksqldb=says("emit-final-disabled"),
        )
    for check in CHECKS:
        check(root)
    _check_repeatable(root, planning, query)
    optimized = optimize(root).root
    note_limits(optimized, planning.session)
    mode = decide_mode(optimized, emit, planning.session)
    reads = sources_read(root)
    starts = starts_of(root)
    return QueryPlan(
        optimized,
        mode,
        emit,
        reads,
        query_id,
        built.columns,
        starts,
        guarantee(planning.session),
        root,
        None if (told := get_text(planning.session, SHUFFLE_PARTITIONS)) is None else int(told),
    )


def _check_repeatable(root: Operator, planning: Planning, query: Query) -> None:
    """Nondeterministic functions give another result on repetition."""
    if guarantee(planning.session) is not Guarantee.EXACTLY_ONCE or not isinstance(root, Sink):
        return
    if any(isinstance(node, Derived) and node.by_clock for node in operators(root)):
        raise ConfigError(
            "Windows by PROCTIME() cannot be delivered exactly once: a row that is processed again "
            "falls into another window.",
            hint=f"SET '{GUARANTEE}'='at_least_once', or base the windows on the rows' own time.",
            span=query.span,
        )
    if any(lookups(node) and any(node.stores(root)) for node in operators(root)):
        raise ConfigError(
            "After a lookup, grouping and joins cannot be delivered exactly once: a row that "
            "is processed again may have another result.",
            hint=f"SET '{GUARANTEE}'='at_least_once', or write the lookup results to a stream "
            "and read that stream.",
            span=query.span,
        )


# -- CREATE .. AS SELECT -------------------------------------------------------------------------


def _check_persistent(query: Query, statement: str) -> None:
    if query.limit is not None:
        raise PlanError(
            f"{statement} statements don't support LIMIT clause.",
            hint="LIMIT applies to SELECT .. EMIT CHANGES; a persistent query has no end. For a "
            "Top-N table, "
            "use QUALIFY ROW_NUMBER() OVER (PARTITION BY .. ORDER BY ..) <= n.",
            span=query.span,
        )


def _check_kind(built: Built, statement: CreateAsSelect) -> None:
    kind = built.root.kind
    if kind is not statement.kind:
        article = "a TABLE" if kind is Kind.TABLE else "a STREAM"
        raise PlanError(
            f"Invalid result type. Your SELECT query produces {article}. "
            f"Please use CREATE {kind.value} AS SELECT statement instead.",
            span=statement.span,
        )


def _check_no_loop(built: Built, statement: CreateAsSelect) -> None:
    if statement.name in sources_read(built.root):
        raise PlanError(
            f"Cannot create {quote(statement.name)} from itself: the query would read its own "
            "output.",
            hint="Give the result another name.",
            span=statement.span,
        )


def _replaced_id(existing: Source | None, catalog: Catalog) -> str | None:
    """OR REPLACE keeps the id of the replaced query."""
    return existing.created_by_query if existing is not None else None


def _check_single_writer(existing: Source, catalog: Catalog) -> None:
    writers = catalog.writers(existing.name)
    if len(writers) > 1 or existing.created_by_query is None:
        raise CatalogError(
            f"Cannot replace {quote(existing.name)}: it is not written by one CREATE .. AS SELECT "
            f"query alone: [{', '.join(writers)}]",
            hint="TERMINATE the INSERT INTO queries, or DROP it first.",
        )


# -- INSERT INTO ---------------------------------------------------------------------------------


def _insert_target(statement: InsertInto, catalog: Catalog) -> Source:
    target = catalog.get(statement.target)
    name = target.name
    if target.kind is Kind.TABLE:
        raise PlanError(
            f"INSERT INTO can only be used to insert into a stream. {name} is a table.",
            hint="CREATE TABLE .. AS SELECT makes and fills a table.",
            span=statement.span,
        )
    if target.schema.headers:
        raise PlanError(
            f"Cannot insert into {name} because it has header columns", span=statement.span
        )
    if target.is_source:
        raise PlanError(
            f"Cannot insert into read-only {target.kind.value.lower()}: {name}",
            span=statement.span,
        )
    check_writable(target.topic.value_format.name, name)
    return target


def _fitted(built: Built, target: Source, statement: InsertInto) -> Built:
    """The result with its columns widened to the sink's; PlanError if they do not match."""
    project = built.root
    if project.kind is not target.kind:
        raise PlanError(
            "Incompatible data sink and query result. "
            f"Data sink ({target.name}) type is {target.kind.value} but select query result is "
            f"{project.kind.value}.",
            span=statement.span,
        )
    result, sink = project.schema, target.schema
    if not _compatible(result, sink) or built.window != target.topic.window:
        raise PlanError(
            "Incompatible schema between results and sink.",
            detail=f"Result schema is {result}\nSink schema is {sink}",
            hint="Select the sink's columns by name, in its order, with its types.",
            span=statement.span,
        )
    return replace(
        built,
        root=Project(
            project.input,
            _widened(project.key, sink.key),
            _widened(project.value, sink.value),
        ),
    )


def _compatible(result: Schema, sink: Schema) -> bool:
    return len(result) == len(sink) and all(
        a.name == b.name and a.namespace is b.namespace and widens_to(a.type, b.type)
        for a, b in zip(result, sink, strict=True)
    )


def _widened(items: tuple[Named, ...], columns: tuple[Column, ...]) -> tuple[Named, ...]:
    return tuple(
        Named(item.name, coerce(item.expression, column.type))
        for item, column in zip(items, columns, strict=True)
    )
