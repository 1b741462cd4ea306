"""Restrictions of pull queries: permanent ones, and those of properties. With table scans disabled
they are ksqlDB's: key lookups in tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.errors import (
    BindError,
    CatalogError,
    ConfigError,
    PlanError,
    StreamSQLError,
    UnsupportedError,
)
from streamsql.formats.base import columns_text
from streamsql.ksqldb import says
from streamsql.nodes import Expression, Join, Query, SelectExpression, Subquery
from streamsql.planner.operators import Filter, Operator, Scan
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.routes import Batch, KeyLookup, KeyRange, Route, StoredTables
from streamsql.planner.pull.conditions import compared_column, disjuncts_of
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.select.build import Built
from streamsql.planner.types.scope import text_of
from streamsql.properties import (
    PULL_ENABLED,
    PULL_LIMIT,
    PULL_RANGE_SCAN,
    PULL_STREAM,
    PULL_TABLE_SCAN,
    get_bool,
)
from streamsql.schema import ROWOFFSET, ROWPARTITION, Kind
from streamsql.types import BOOLEAN, is_numeric, quote, to_sql

_KSQLDB_CLAUSES = ("JOIN", "WINDOW", "GROUP BY", "PARTITION BY", "HAVING")
"""Clauses that ksqlDB has, in push queries."""
_HIDDEN = (ROWPARTITION.name, ROWOFFSET.name)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_TABLE_SCAN_HINT = f"SET '{PULL_TABLE_SCAN}'='true' allows all conditions."


@contextmanager
def known_by_clause(query: Query) -> Iterator[None]:
    """Replaces errors in the block by ksqlDB's about the query: if it has a clause that pull
    queries do not support there, that error has precedence. Only names are checked before."""
    try:
        yield
    except (BindError, CatalogError):
        raise
    except StreamSQLError as error:
        clause = next((name for name, there in _clauses(query).items() if there), None)
        if clause in _KSQLDB_CLAUSES:
            error.ksqldb = says("pull-clause", clause=clause)
        raise


def check_enabled(query: Query, planning: Planning) -> None:
    """ConfigError if pull queries, or their LIMIT, are disabled."""
    if get_bool(planning.session, PULL_ENABLED) is False:
        raise ConfigError(
            f"Pull queries are disabled: '{PULL_ENABLED}' is false.",
            hint="Add EMIT CHANGES if you intended to issue a push query.",
            span=query.span,
            ksqldb=says("pull-disabled"),
        )
    if query.limit is not None and get_bool(planning.session, PULL_LIMIT) is False:
        raise ConfigError(
            f"LIMIT clause in pull queries is disabled: '{PULL_LIMIT}' is false.",
            hint="Leave LIMIT out.",
            span=query.span,
            ksqldb=says("pull-limit-disabled"),
        )


def check_columns(query: Query) -> None:
    """A table's row has no meaningful position in a topic."""
    items = [i.expression for i in query.items if isinstance(i, SelectExpression)]
    where = [] if query.where is None else [query.where]
    for clause, expressions in (("SELECT", items), ("WHERE", where)):
        names = [
            column.name
            for expression in expressions
            for column in expression.find_all(exp.Column)
            if column.name in _HIDDEN
        ]
        if names:
            columns = ", ".join(map(quote, dict.fromkeys(names)))
            raise PlanError(
                f"Pull queries don't support the following columns in {clause} clauses: {columns}",
                hint="Leave them out, or add EMIT CHANGES for a push query.",
                span=query.span,
                ksqldb=says("pull-columns", clause=clause, columns=columns),
            )


def check_allowed(query: Query, built: Built, route: Route, planning: Planning) -> None:
    source = _single_source(built)
    if source is not None and source.kind is Kind.TABLE:
        _check_in_lists(query.where, source)
    if source is not None and source.kind is Kind.STREAM:
        if get_bool(planning.session, PULL_STREAM) is False:
            raise ConfigError(
                f"Pull queries on streams are disabled: '{PULL_STREAM}' is false.",
                hint="Add EMIT CHANGES if you intended to issue a push query.",
                span=query.span,
                ksqldb=says("pull-of-stream"),
            )
    if get_bool(planning.session, PULL_TABLE_SCAN) is not False:
        return
    if isinstance(route, Batch | StoredTables):
        _check_is_lookup(query, source)
    elif source is not None and not isinstance(route, KeyLookup):
        ranges = get_bool(planning.session, PULL_RANGE_SCAN) is not False
        if not (isinstance(route, KeyRange) and ranges and not source.is_windowed):
            raise _needs_scan(built.root.input, source)


def _single_source(built: Built) -> Source | None:
    below = built.root.input
    while isinstance(below, Filter):
        below = below.input
    return below.source if isinstance(below, Scan) else None


def _check_in_lists(where: Expression | None, source: Source) -> None:
    """Text does not match a key of another type."""
    keys = {c.name: c for c in source.schema.key if is_numeric(c.type) or c.type == BOOLEAN}
    for node in where.find_all(exp.In) if where is not None else ():
        column = node.this
        if not isinstance(column, exp.Column) or column.name not in keys:
            continue
        for item in node.expressions:
            if isinstance(item, exp.Literal) and item.is_string:
                key = keys[column.name]
                raise PlanError(
                    f"'{item.name}' can not be converted to the type of the key column: "
                    f"{key.name} {to_sql(key.type)} KEY",
                    span=span_of(item),
                )


# -- table scans disabled ------------------------------------------------------------------------


def _check_is_lookup(query: Query, source: Source | None) -> None:
    """UnsupportedError unless the only source is a stream."""
    clause = next((name for name, there in _clauses(query).items() if there), None)
    if clause is not None or source is None:
        raise UnsupportedError(
            f"Pull queries don't support {clause or 'subquery'} clauses.",
            hint=f"Add EMIT CHANGES if you intended to issue a push query. {_TABLE_SCAN_HINT}",
            span=query.span,
            ksqldb=says("pull-clause", clause=clause or "subquery"),
        )
    if source.kind is Kind.TABLE:
        name = quote(source.name)
        raise UnsupportedError(
            f"The {name} table isn't queryable. To derive a queryable table, you can do "
            f"'CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {source.name}'.",
            hint=_TABLE_SCAN_HINT,
            span=query.span,
            ksqldb=says("pull-of-table", table=name, name=source.name),
        )


def _clauses(query: Query) -> Mapping[str, bool]:
    return {
        "JOIN": isinstance(query.relation, Join),
        "WINDOW": query.window is not None,
        "GROUP BY": bool(query.group_by),
        "PARTITION BY": bool(query.partition_by),
        "HAVING": query.having is not None,
        "UNION ALL": bool(query.union),
        "DISTINCT": query.distinct,
        "subquery": isinstance(query.relation, Subquery),
    }


def _needs_scan(rows: Operator, source: Source) -> PlanError:
    conditions: list[Expression] = []
    while isinstance(rows, Filter):
        conditions.append(rows.condition)
        rows = rows.input
    disjuncts = disjuncts_of(conditions) or [[]]
    reasons = (_reason(parts, source) for parts in disjuncts)
    reason = next((r for r in reasons if r), "Query requires table scan to be enabled")
    hint = (
        "A pull query needs a WHERE clause with key = value, for all key columns. "
        + ("WINDOWSTART and WINDOWEND may be bounded, too. " if source.is_windowed else "")
        + _TABLE_SCAN_HINT
    )
    return PlanError(
        f"{reason}.",
        hint=hint,
        span=span_of(conditions[0]) if conditions else None,
        ksqldb=says("pull-where", reason=reason),
    )


def _reason(parts: list[Expression], source: Source) -> str | None:
    """Why a conjunct is not a lookup; None: it is a range of keys."""
    if not parts:
        return "Missing WHERE clause"
    key = source.schema.key
    keys = [column.name for column in key]
    compared: list[str] = []
    for part in parts:
        if not isinstance(part, _COMPARISONS):
            continue
        sides = [compared_column(side) for side in (part.left, part.right)]
        names = [name for name in sides if name in keys]
        if not names and any(c.name in keys for c in part.find_all(exp.Column)):
            return "A comparison must directly reference a key column"
        if names and len(list(part.find_all(exp.Column))) > 1:
            return "A comparison must be between a key column and a resolvable expression"
        if names and isinstance(part, exp.NEQ):
            return f"Bound on key columns '{columns_text(key)}' must currently be '='"
        compared += [name for name in names if name]
    if not compared and not any(c.name in keys for p in parts for c in p.find_all(exp.Column)):
        disjunct = text_of(reduce(lambda left, right: exp.And(this=left, expression=right), parts))
        return f"WHERE clause missing key column for disjunct: {disjunct}"
    if compared and set(compared) != set(keys):
        given = ", ".join(quote(name) for name in keys if name in compared)
        return (
            "Multi-column sources must specify every key in the WHERE clause. "
            f"Specified: [{given}] Expected: {columns_text(key)}"
        )
    if len(set(compared)) < len(compared):
        return (
            "A comparison condition on the key column cannot be combined with other comparisons "
            "such as an IN predicate"
        )
    return None
