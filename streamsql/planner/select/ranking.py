"""Top-N: ROW_NUMBER(), RANK() or DENSE_RANK() OVER (..) in a subquery, and the condition on it
around the subquery."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.errors import PlanError, Span, UnsupportedError
from streamsql.nodes import Emit, Expression, Query, SelectExpression, Subquery
from streamsql.planner.operators import Named, Operator, Ordering, Project, Ranks, TopN
from streamsql.planner.plans.rewriting import conjuncts
from streamsql.planner.scopes.scope import Scope, column_node
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.from_clause import From
from streamsql.planner.select_list.items import Item, select_items
from streamsql.planner.select_list.projection import Keys, Selected, check_stored, divide, project
from streamsql.planner.types.binding import aggregates_in, bind, reference, table_functions_in
from streamsql.schema import ROWTIME, Column, Namespace
from streamsql.types import BIGINT, contains_map, quote, to_sql, type_of

MAX_COUNT = 10_000
"""The maximum rank: each row is compared with all ranks of its group."""


NUMBER = "ROW_NUMBER"
"""The column that distinguishes rows of one rank if the subquery has no ROW_NUMBER()."""
HIDDEN_NUMBER = "$NUMBER"
"""The same in a pull query, whose rows need no key."""


@dataclass(frozen=True)
class Ranking:
    """Parts of a Top-N: the subquery, its rank item, an additional row number, and the limit."""

    subquery: Subquery
    item: SelectExpression
    number: SelectExpression | None
    count: int
    rest: Expression | None
    """The other conditions around the subquery."""

    @property
    def window(self) -> exp.Window:
        return _window(self.item)

    @property
    def ranks(self) -> Ranks:
        return _ranks(self.item) or Ranks.ROW_NUMBER

    @property
    def name(self) -> str:
        return _name(self.item)


def find_ranking(query: Query) -> Ranking | None:
    """The Top-N of a query; None if its subquery ranks no rows, or only counts them in order of
    arrival.

    PlanError if rows are ranked without a limit.
    """
    if not isinstance(query.relation, Subquery):
        return None
    inner = query.relation.query
    items = [i for i in inner.items if isinstance(i, SelectExpression) and _ranks(i)]
    if not items:
        return None
    item, number = _counting(items)
    conditions = [] if query.where is None else conjuncts(query.where)
    counts = [_bound(c, _name(item), query.relation.alias) for c in conditions]
    wanted = [count for count in counts if count is not None]
    function = f"{_window(item).this.name}()"
    if not wanted and all(map(_as_they_come, items)):
        return None
    if not wanted:
        raise PlanError(
            f"{function} needs a condition on {quote(_name(item))} around the subquery.",
            detail="A stream has no last row, so that not all rows can be numbered.",
            hint=f"Say how many rows of each group are wanted: WHERE {_name(item)} <= 3.",
            span=item.span,
        )
    rest = [c for c, count in zip(conditions, counts, strict=True) if count is None]
    count = min(wanted)
    if not 1 <= count <= MAX_COUNT:
        raise PlanError(
            f"{function} takes 1 to {MAX_COUNT} rows of each group, not {count}.",
            span=item.span,
        )
    return Ranking(query.relation, item, number, count, _conjunction(rest))


def _counting(items: list[SelectExpression]) -> tuple[SelectExpression, SelectExpression | None]:
    """The rank item, and an additional ROW_NUMBER()."""
    numbers = [item for item in items if _ranks(item) is Ranks.ROW_NUMBER]
    ranks = [item for item in items if item not in numbers]
    if len(numbers) > 1 or len(ranks) > 1:
        raise UnsupportedError(
            "only one ROW_NUMBER() in a subquery is supported, and one RANK() or DENSE_RANK()",
            span=items[1].span,
        )
    if not ranks:
        return numbers[0], None
    over = [
        (_window(item).args.get("partition_by"), _window(item).args.get("order")) for item in items
    ]
    if over[0] != over[-1]:
        raise UnsupportedError(
            "ROW_NUMBER() in addition to RANK() or DENSE_RANK() requires the same OVER",
            span=items[1].span,
        )
    return ranks[0], numbers[0] if numbers else None


def _window(item: SelectExpression) -> exp.Window:
    assert isinstance(item.expression, exp.Window)
    return item.expression


def _ranks(item: SelectExpression) -> Ranks | None:
    window = item.expression
    if not isinstance(window, exp.Window) or window.this.name not in Ranks.__members__:
        return None
    return Ranks[window.this.name]


def _as_they_come(item: SelectExpression) -> bool:
    """Whether the number of a row never changes: in streams, in time order."""
    order = _window(item).args.get("order")
    orders = order.expressions if order is not None else []
    by_time = [isinstance(o.this, exp.Column) and o.this.name == ROWTIME.name for o in orders]
    return by_time == [True] and not orders[0].args.get("desc") and _ranks(item) is Ranks.ROW_NUMBER


def _name(item: SelectExpression) -> str:
    return item.alias or _window(item).this.name


def _bound(condition: Expression, name: str, alias: str | None) -> int | None:
    """n of `name <= n` and similar conditions; None for another condition."""
    flipped = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}
    kind, left, right = type(condition), condition.this, condition.args.get("expression")
    if isinstance(right, exp.Column) and kind in flipped:
        kind, left, right = flipped[kind], right, left
    if not isinstance(left, exp.Column) or left.name != name or left.table not in ("", alias):
        return None
    if not isinstance(right, exp.Literal) or right.is_string or not right.name.isdecimal():
        return None
    count = int(right.name)
    if kind is exp.EQ:
        return 1 if count == 1 else None
    if kind is exp.LT:
        return count - 1
    return count if kind is exp.LTE else None


def _conjunction(conditions: list[Expression]) -> Expression | None:
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = exp.And(this=result.copy(), expression=condition.copy())
    return result


# -- the subquery --------------------------------------------------------------------------------


def build_ranking(
    ranking: Ranking, source: From, rows: Operator, named: str, *, bounded: bool
) -> Project:
    """The subquery's plan; `rows` are those of FROM after WHERE."""
    inner, scope = ranking.subquery.query, source.scope
    _check_clauses(inner, ranking)
    groups = [_group(e, scope) for e in ranking.window.args.get("partition_by") or []]
    order = _order(ranking, scope)
    names = [f"TOP_KEY_{number}" for number in range(len(groups))]
    taken = set(rows.schema.names)
    rank = _free(ranking.name, taken)
    tied = ranking.ranks is not Ranks.ROW_NUMBER
    number = _free(HIDDEN_NUMBER, taken) if tied else rank
    keys = tuple(Named(_free(n, taken), e) for n, e in zip(names, groups, strict=True))
    top = TopN(rows, keys, order, ranking.count, number, ranking.ranks, rank if tied else "")
    items = _items(ranking, source, rank, number)
    if tied and ranking.number is None:
        name = HIDDEN_NUMBER if bounded else NUMBER
        items = _distinct((*items, Item(name, _rank(number), ranking.item.span)))
    wanted = Keys((*groups, _rank(number)), "partitioning expression", scope.alias)
    selected = divide(items, wanted)
    check_stored(selected, wanted, named, inner.span)
    result = Selected(
        tuple(
            item and replace(item, expression=reference(name, item.expression))
            for item, name in zip(selected.key, (*(k.name for k in keys), number), strict=True)
        ),
        selected.value,
    )
    return project(top, result)


def _items(ranking: Ranking, source: From, rank: str, number: str) -> tuple[Item, ...]:
    inner = ranking.subquery.query
    items: list[Item] = []
    for item in inner.items:
        if item is ranking.item:
            items.append(Item(ranking.name, _rank(rank), item.span))
        elif item is ranking.number:
            items.append(Item(_name(ranking.number), _rank(number), item.span))
        else:
            alone = replace(inner, items=(item,))
            items.extend(select_items(alone, source.scope, source.stars, persistent=True))
    return _distinct(tuple(items))


def _distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    names = [made.name for made in items]
    for made in items:
        if names.count(made.name) > 1:
            raise PlanError(
                f"The subquery has two columns called {quote(made.name)}",
                hint="Give one of the columns an alias: expression AS name.",
                span=made.span,
            )
    return items


def _rank(number: str) -> exp.Column:
    return column_node(Column(number, BIGINT, Namespace.KEY))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _group(expression: Expression, scope: Scope) -> Expression:
    bound = _bind(expression, scope, "PARTITION BY")
    if contains_map(type_of(bound)):
        raise PlanError(
            "PARTITION BY cannot compare values that contain a MAP.", span=span_of(expression)
        )
    return bound


def _order(ranking: Ranking, scope: Scope) -> tuple[Ordering, ...]:
    order = ranking.window.args.get("order")
    if order is None:
        raise PlanError(
            f"{ranking.window.this.name}() needs an ORDER BY in OVER.",
            hint="It says which rows are the first ones: OVER (PARTITION BY a ORDER BY b DESC).",
            span=span_of(ranking.window),
        )
    found = []
    for ordered in order.expressions:
        bound = _bind(ordered.this, scope, "ORDER BY")
        if contains_map(type_of(bound)):
            raise PlanError(
                f"ORDER BY cannot order values of type {to_sql(type_of(bound))}.",
                span=span_of(ordered.this),
            )
        found.append(Ordering(bound, bool(ordered.args.get("desc"))))
    return tuple(found)


def _bind(expression: Expression, scope: Scope, clause: str) -> Expression:
    for call in (*aggregates_in(expression), *table_functions_in(expression)):
        raise PlanError(
            f"{clause} of OVER does not take {expression_text(call)}: it is an aggregate "
            "or table function.",
            hint="Rank the rows of a subquery that computes it.",
            span=span_of(call),
        )
    return bind(expression, scope, clause)


def _check_clauses(inner: Query, ranking: Ranking) -> None:
    if ranking.window.this.expressions:
        name = ranking.window.this.name
        raise PlanError(f"{name}() takes no arguments.", span=span_of(ranking.window))
    selected = [
        item.expression
        for item in inner.items
        if isinstance(item, SelectExpression) and item not in (ranking.item, ranking.number)
    ]
    grouped = inner.group_by or any(aggregates_in(e) or table_functions_in(e) for e in selected)
    if grouped or inner.partition_by or inner.having is not None or inner.distinct or inner.union:
        raise _only_plain(inner.span)
    if inner.window is not None or inner.emit is Emit.FINAL:
        raise _only_plain(inner.span)


def _only_plain(span: Span | None) -> PlanError:
    return PlanError(
        "ROW_NUMBER() and RANK() apply to the rows of a plain SELECT, without GROUP BY, PARTITION "
        "BY, "
        "DISTINCT, UNION ALL or WINDOW",
        hint="Put that into a subquery: SELECT *, ROW_NUMBER() OVER (..) AS n FROM (SELECT ..).",
        span=span,
    )
