"""IN (SELECT ..) and EXISTS (SELECT ..) in WHERE: joins with a table without selecting its columns.

They consist of existing operators: the rows are qualified and joined with the subquery's table,
rows without a match (with NOT: with a match) are filtered out, and the columns get their names
back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.catalog import Catalog
from streamsql.errors import PlanError, Span, UnsupportedError
from streamsql.nodes import (
    Expression,
    Join,
    JoinType,
    Query,
    Relation,
    SelectExpression,
    SourceRef,
    Subquery,
)
from streamsql.planner.operators import Derived, Filter, JoinKind, Named, Operator, Project, Qualify
from streamsql.planner.operators import Join as JoinRows
from streamsql.planner.plans.rewriting import conjunction, conjuncts
from streamsql.planner.scopes.qualified import qualified_name
from streamsql.planner.scopes.scope import Scope, column_node
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.from_clause import From
from streamsql.planner.types.binding import aggregates_in, bind, columns_in, reference
from streamsql.planner.types.binding import replace as replaced
from streamsql.planner.types.inference import coerce
from streamsql.schema import Column, Kind
from streamsql.types import BOOLEAN, quote, to_sql, type_of, widens_to

_ROWS, _TABLE, _KEY = "ROWS", "SUBQUERY", "SEMI_KEY"


@dataclass(frozen=True)
class SemiJoin:
    """A condition that a value is, or is not, the key of a row of a subquery."""

    value: Expression
    query: Query
    negated: bool
    with_nulls: bool
    """Whether a null value passes if it is negated."""
    span: Span | None


def split(where: Expression | None, scope: Scope) -> tuple[list[SemiJoin], Expression | None]:
    if where is None:
        return [], None
    semis: list[SemiJoin] = []
    rest: list[Expression] = []
    for condition in conjuncts(where):
        found = _semi_join(condition, scope)
        if found is None:
            rest.append(condition)
        else:
            semis.append(found)
    if not semis:
        return [], where
    return semis, conjunction(rest) if rest else None


def _semi_join(condition: Expression, scope: Scope) -> SemiJoin | None:
    negated = isinstance(condition, exp.Not)
    node = condition.this if negated else condition
    if isinstance(node, exp.In) and isinstance(node.args.get("query"), Query):
        query = node.args["query"]
        return SemiJoin(node.this, query, negated, False, span_of(node))
    if isinstance(node, exp.Exists):
        return _exists(node, negated, scope)
    return None


def of_values(semi: SemiJoin, catalog: Catalog) -> SemiJoin:
    """The same over the subquery's selected values, whether or not they are a table's key."""
    query = semi.query
    items = [item for item in query.items if isinstance(item, SelectExpression)]
    if len(items) != len(query.items) or len(items) != 1 or query.union:
        return semi
    selected = items[0].expression
    if query.group_by or query.having is not None or aggregates_in(selected):
        return semi
    if isinstance(query.relation, SourceRef) and isinstance(selected, exp.Column):
        source = catalog.sources.get(query.relation.name)
        keys = [] if source is None else [column.name for column in source.schema.key]
        if source is not None and source.kind is Kind.TABLE and keys == [selected.name]:
            return semi
    count = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
    grouped = replace(
        query,
        distinct=False,
        group_by=(selected,),
        having=exp.GT(this=count, expression=exp.Literal.number(0)),
    )
    return replace(semi, query=grouped)


def semi_join(
    rows: Operator, semi: SemiJoin, source: From, build: Callable[[Subquery], Derived]
) -> Operator:
    if source.window is not None:
        raise UnsupportedError(
            "IN (SELECT ..) and EXISTS are not supported on windowed sources.", span=semi.span
        )
    table = build(Subquery(semi.query, _TABLE, semi.span))
    key = _key(table, semi)
    value = _value(semi, source.scope, key)
    left, right = Qualify(rows, _ROWS), Qualify(table, _TABLE)
    on = replaced(value, lambda node: _renamed(node) if isinstance(node, exp.Column) else None)
    kind = _kind(rows, value)
    right_on = column_node(replace(key, name=qualified_name(_TABLE, key.name)))
    join: Operator = JoinRows(
        left,
        right,
        kind,
        JoinType.LEFT if semi.negated else JoinType.INNER,
        on,
        right_on,
        "" if kind is JoinKind.FOREIGN_KEY else _KEY,
    )
    if semi.negated:
        conditions = [_null(right_on)]
        if not semi.with_nulls:
            conditions.append(_not(_null(on)))
        join = Filter(join, conjunction(conditions))
    keys = _back(rows.schema.key)
    if kind is JoinKind.TABLE_TABLE:
        # A deleted row has no columns of either side.
        keys = tuple(Named(key.name, reference(_KEY, key.expression)) for key in keys)
    return Project(join, keys, _back(_others(rows)))


def _value(semi: SemiJoin, scope: Scope, key: Column) -> Expression:
    value = bind(semi.value, scope, "WHERE")
    if not widens_to(type_of(value), key.type):
        raise PlanError(
            f"Cannot compare {expression_text(value)} ({to_sql(type_of(value))}) to "
            f"{quote(key.name)} ({to_sql(key.type)}) of the subquery.",
            hint="CAST one of them to the type of the other.",
            span=semi.span,
        )
    return coerce(value, key.type)


def _key(table: Derived, semi: SemiJoin) -> Column:
    schema = table.source.schema
    if table.kind is Kind.STREAM:
        raise UnsupportedError(
            "IN (SELECT ..) and EXISTS look into tables; this subquery gives a stream.",
            hint="The values that have come so far are a table: "
            "SELECT x FROM stream GROUP BY x HAVING COUNT(*) > 0.",
            span=semi.span,
        )
    if len(schema.key) != 1 or schema.value or table.source.is_windowed:
        columns = ", ".join(schema.names)
        raise UnsupportedError(
            "The subquery must select the primary key of its table, and nothing else. "
            f"It selects {columns}.",
            hint="The values of another column are a table: "
            "SELECT x FROM t GROUP BY x HAVING COUNT(*) > 0.",
            span=semi.span,
        )
    return schema.key[0]


def _kind(rows: Operator, value: Expression) -> JoinKind:
    if rows.kind is Kind.STREAM:
        return JoinKind.STREAM_TABLE
    keys = rows.schema.key
    own = len(keys) == 1 and isinstance(value, exp.Column) and value.name == keys[0].name
    return JoinKind.TABLE_TABLE if own else JoinKind.FOREIGN_KEY


def _others(rows: Operator) -> tuple[Column, ...]:
    keys = rows.schema.key
    return tuple(column for column in rows.schema if column not in keys)


def _back(columns: tuple[Column, ...]) -> tuple[Named, ...]:
    return tuple(Named(c.name, _renamed(column_node(c))) for c in columns)


def _renamed(column: exp.Column) -> Expression:
    node = column.copy()
    node.set("this", exp.to_identifier(qualified_name(_ROWS, column.name), quoted=True))
    return node


def _null(value: Expression) -> Expression:
    node = exp.Is(this=value.copy(), expression=exp.Null())
    node.type = BOOLEAN
    return node


def _not(condition: Expression) -> Expression:
    node = exp.Not(this=condition)
    node.type = BOOLEAN
    return node


# -- EXISTS --------------------------------------------------------------------------------------


def _exists(node: exp.Exists, negated: bool, scope: Scope) -> SemiJoin:
    """EXISTS (SELECT .. FROM t WHERE t.key = outer.x AND ..) is outer.x IN (SELECT key ..)."""
    query: Query = node.this
    inner = set(_aliases(query.relation))
    links: list[tuple[Expression, Expression]] = []
    rest: list[Expression] = []
    for condition in conjuncts(query.where) if query.where is not None else []:
        if not _outer_columns(condition, inner, scope):
            rest.append(condition)
            continue
        link = _link(condition, inner, scope)
        if link is None:
            raise _not_correlated(node)
        links.append(link)
    if len(links) != 1 or query.union or query.group_by or query.distinct:
        raise _not_correlated(node)
    ((outside, inside),) = links
    where = conjunction(rest) if rest else None
    items = (SelectExpression(inside),)
    return SemiJoin(outside, replace(query, items=items, where=where), negated, True, span_of(node))


def _link(
    condition: Expression, inner: set[str], scope: Scope
) -> tuple[Expression, Expression] | None:
    """Both sides of `outer = inner`, the outer one first."""
    if not isinstance(condition, exp.EQ):
        return None
    sides = (condition.this, condition.expression)
    outer = [bool(_outer_columns(side, inner, scope)) for side in sides]
    if outer == [True, False]:
        return sides
    return (sides[1], sides[0]) if outer == [False, True] else None


def _outer_columns(expression: Expression, inner: set[str], scope: Scope) -> list[exp.Column]:
    """The columns that are qualified by a source of the query around the subquery."""
    columns = columns_in(expression)
    return [c for c in columns if c.table in scope.aliases and c.table not in inner]


def _aliases(relation: Relation) -> tuple[str, ...]:
    if isinstance(relation, Join):
        return (*_aliases(relation.left), *_aliases(relation.right))
    if isinstance(relation, SourceRef):
        return (relation.alias or relation.name,)
    return () if relation.alias is None else (relation.alias,)


def _not_correlated(node: exp.Exists) -> UnsupportedError:
    return UnsupportedError(
        "EXISTS needs one equality between the subquery's key and a column around it.",
        hint="Qualify the columns: EXISTS (SELECT * FROM t WHERE t.id = s.x AND t.y > 1).",
        span=span_of(node),
    )
