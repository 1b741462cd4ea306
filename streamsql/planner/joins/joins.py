"""FROM with joins: the left-deep tree of Join operators, as written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from sqlglot import exp

from streamsql import nodes
from streamsql.errors import BindError, PlanError, UnsupportedError
from streamsql.nodes import Expression, JoinType
from streamsql.planner.joins.conditions import Condition, analyse_condition, on_keys
from streamsql.planner.joins.keys import synthetic_name
from streamsql.planner.joins.lookups import is_looked_up, joined_lookup
from streamsql.planner.joins.restrictions import (
    Side,
    check_partitions,
    check_sources,
    join_kind,
    matched,
)
from streamsql.planner.joins.scope import JoinScope, joined_name
from streamsql.planner.operators import (
    FOREVER_MS,
    Filter,
    Join,
    JoinKind,
    JoinWindow,
    Leaf,
    Operator,
    Qualify,
)
from streamsql.planner.operators.combined import parts_of
from streamsql.planner.plans.rewriting import conjunction
from streamsql.planner.scopes.qualified import bare_name, mark_qualified, qualified_name, qualifier
from streamsql.planner.scopes.scope import Scope, column_node, folded
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.with_clause.format_choice import check_key_types
from streamsql.schema import Column, Kind, Namespace, Schema
from streamsql.types import type_of


def build_joins(
    scans: Sequence[Leaf], joins: Sequence[nodes.Join], scope: Scope, *, bounded: bool = False
) -> Side:
    """Joins the sources from left to right; `scope` has the custom types, `bounded` means that the
    query ends. All conditions are analyzed before the joins, so that an unknown name is reported
    before an unsupported join."""
    check_sources(scans, joins)
    _check_names(scans)
    scopes = [join_scope(scans[: i + 2], scope) for i in range(len(joins))]
    conditions = [
        analyse_condition(join.on or _using(join, scans[: i + 2]), seen, scans[i + 1].alias)
        for i, (join, seen) in enumerate(zip(joins, scopes, strict=True))
    ]
    names = [*(f"KEY_{i}" for i in range(1, len(joins))), _key_name(scans)]
    side = _leaf(scans[0])
    steps = zip(joins, conditions, scopes, scans[1:], names, strict=True)
    for join, condition, seen, scan, name in steps:
        right = _leaf(scan)
        if scan.kind is Kind.TABLE:
            condition = on_keys(condition, right.keys, seen)
        if is_looked_up(scan):
            side = joined_lookup(side, right, join, condition)
        else:
            kind = join_kind(side, right, join, condition, bounded=bounded)
            side = _joined(side, right, join, condition, name, kind)
    return side


def _using(join: nodes.Join, scans: Sequence[Leaf]) -> Expression:
    """`USING (a, b)` as equalities with the first source that has each column."""
    *before, joined = scans
    equalities: list[Expression] = []
    for name in join.using:
        found = next((n for n in (name, folded(name)) if joined.schema.find(n)), name)
        owner = next((s for s in before if s.schema.find(found)), None)
        if owner is None or joined.schema.find(found) is None:
            missing = joined.alias if owner is not None else before[-1].alias
            raise BindError(
                f"USING column '{name}' cannot be resolved: {missing} has no such column.",
                hint="Columns of USING are of both sides; others are compared by ON a.x = b.y.",
                span=join.span,
            )
        sides = [_column(found, scan.alias, join) for scan in (owner, joined)]
        equality = exp.EQ(this=sides[0], expression=sides[1])
        equality.meta.update(sides[0].meta)
        equalities.append(equality)
    return conjunction(equalities)


def _column(name: str, alias: str, join: nodes.Join) -> exp.Column:
    parts = [exp.to_identifier(part, quoted=True) for part in (name, alias)]
    column = exp.Column(this=parts[0], table=parts[1])
    if join.span is not None:
        span = join.span
        column.meta.update(line=span.line, column=span.column, start=span.start, end=span.end)
    return column


def shared_names(joins: Sequence[nodes.Join], scans: Sequence[Leaf]) -> Mapping[str, str]:
    """For columns of USING, the source of their value; for a FULL join neither."""
    found: dict[str, str] = {}
    for place, join in enumerate(joins):
        for name in map(folded, join.using):
            owner = next((s for s in scans[: place + 1] if s.schema.find(name)), None)
            if join.type is JoinType.RIGHT:
                found[name] = scans[place + 1].alias
            elif owner is not None and join.type is not JoinType.FULL:
                found.setdefault(name, owner.alias)
    return found


def join_scope(
    scans: Sequence[Leaf],
    like: Scope,
    schema: Schema | None = None,
    key: str | None = None,
    shared: Mapping[str, str] | None = None,
) -> JoinScope:
    if schema is None:
        every = (Qualify(scan, scan.alias).schema for scan in scans)
        schema = Schema(tuple(chain.from_iterable(every)))
    sources = tuple((scan.alias, scan.schema) for scan in scans)
    return JoinScope("", schema, like.windowed_query, like.types, sources, key, shared or {})


def viable_columns(side: Side) -> tuple[exp.Column, ...]:
    """The sources' columns that contain the key of the joined rows."""
    return _columns(side.equals)


def viable_parts(side: Side) -> tuple[tuple[exp.Column, ...], ...]:
    """The same for each part of a key of several equalities."""
    several = [parts for e in side.equals if len(parts := parts_of(e)) > 1]
    return tuple(_columns(same) for same in zip(*several, strict=True))


def _columns(expressions: Sequence[Expression]) -> tuple[exp.Column, ...]:
    return tuple(e for e in expressions if isinstance(e, exp.Column) and qualifier(e) is not None)


def _leaf(scan: Leaf) -> Side:
    plan = Qualify(scan, scan.alias)
    keys = tuple(
        mark_qualified(column_node(column), scan.alias)
        for column in plan.schema
        if column.namespace is Namespace.KEY
    )
    key = keys[0] if len(keys) == 1 else None
    return Side(plan, (scan,), key, (key,) if key else (), keys)


def _joined(
    left: Side,
    right: Side,
    join: nodes.Join,
    condition: Condition,
    key_name: str,
    kind: JoinKind,
) -> Side:
    left_on, right_on = matched(left, right, kind, condition)
    besides = _checked(condition, kind, join)
    outer = None if join.type is JoinType.INNER else besides
    scans = (*left.scans, *right.scans)
    if kind is JoinKind.FOREIGN_KEY:
        plan = Join(left.plan, right.plan, kind, join.type, left_on, right_on, condition=outer)
        return Side(_filtered(plan, besides), scans, left.key, left.equals)
    if kind is not JoinKind.ROWS:
        check_partitions(left, right, condition)
    carried = left_on in left.equals and left.key is not None
    equals = (*(left.equals if carried else (left_on,)), right_on)
    if join.type is JoinType.FULL:
        equals = ()
    elif kind is JoinKind.ROWS and join.type is not JoinType.INNER:
        # An unmatched row has no values of the other side.
        equals = (left_on if join.type is JoinType.LEFT else right_on,)
    _check_key_type(equals, key_name, left_on, condition)
    plan = Join(
        left.plan,
        right.plan,
        kind,
        join.type,
        left.key if carried and left.key is not None else left_on,
        right_on,
        key_name,
        _window(join.within) if kind is JoinKind.STREAM_STREAM else None,
        windowed=left.window is not None,
        condition=outer,
    )
    key = column_node(Column(key_name, type_of(left_on), Namespace.KEY))
    return Side(_filtered(plan, besides), scans, key, equals)


def _filtered(join: Join, besides: Expression | None) -> Operator:
    """Further conditions of an inner join can be evaluated after it."""
    inner = join.type is JoinType.INNER and besides is not None
    return Filter(join, besides, "ON") if inner and besides is not None else join


def _checked(condition: Condition, kind: JoinKind, join: nodes.Join) -> Expression | None:
    full_of_tables = kind is JoinKind.TABLE_TABLE and join.type is JoinType.FULL
    if condition.besides is not None and full_of_tables:
        raise UnsupportedError(
            "a FULL OUTER JOIN of tables takes equalities only",
            detail="Two rows of one key that fail the other condition would be two rows of the "
            "result, "
            "and a table has one row per key.",
            hint="Use a LEFT JOIN and a RIGHT JOIN as two tables, or a pull query "
            "(without EMIT), which supports this FULL JOIN.",
            span=span_of(condition.besides),
        )
    return condition.besides


def _window(within: nodes.Within | None) -> JoinWindow:
    if within is None:
        return JoinWindow(FOREVER_MS, FOREVER_MS)
    grace = within.grace.ms if within.grace else None
    return JoinWindow(within.before.ms, within.after.ms, grace)


def _key_name(scans: Sequence[Leaf]) -> str:
    return synthetic_name([column.name for scan in scans for column in scan.schema])


def _check_key_type(
    equals: Sequence[Expression], name: str, key: Expression, condition: Condition
) -> None:
    column = next((e for e in equals if isinstance(e, exp.Column)), None)
    alias = qualifier(column) if column else None
    if column and alias:
        name = joined_name(alias, bare_name(column))
    try:
        check_key_types([Column(name, type_of(key), Namespace.KEY)])
    except PlanError as error:
        error.span = condition.span
        raise


def _check_names(scans: Sequence[Leaf]) -> None:
    """Names of columns stay different when they are qualified, unless aliases hold dots."""
    names = [qualified_name(scan.alias, column.name) for scan in scans for column in scan.schema]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(
            f"the name {twice} can mean columns of two sources",
            hint="Give the sources aliases without dots.",
        )
