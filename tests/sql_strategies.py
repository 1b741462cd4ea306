"""Hypothesis strategies: random statements as nodes, and random text out of SQL's pieces."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from pattern_strategies import after_match, patterns
from sqlglot import exp

from streamsql import nodes as n
from streamsql import types
from streamsql.parser import KEYWORDS
from streamsql.parser.tokens.lexer import SYMBOLS
from streamsql.schema import Kind, OnViolation, WindowType

# -- names, types, literals ----------------------------------------------------------------------

names = st.one_of(
    st.sampled_from(["A", "B", "lower", "a b", "`", '"', "3X", "É", "EMIT", "SELECT", "DATE"]),
    st.sampled_from(sorted(KEYWORDS)),
    st.text(min_size=1, max_size=6),
)
source_names = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), st.sampled_from(sorted(KEYWORDS))
)
texts = st.one_of(st.sampled_from(["", "'", "x", "${x}", "--", "/*", ";"]), st.text(max_size=8))
folded = names.map(str.upper)
# ROW(..) is a row of values, PATTERN(..) a clause of MATCH_RECOGNIZE.
callable_names = folded.filter(lambda name: name not in ("ROW", "PATTERN"))

sql_types = st.recursive(
    st.one_of(
        st.sampled_from([t.copy() for t in types.PRIMITIVES.values()]),
        st.integers(1, 38).flatmap(
            lambda p: st.integers(0, p).map(lambda s: types.decimal(p, s)),
        ),
        names.filter(lambda name: name not in {*types.PRIMITIVES, "INTERVAL"}).map(types.custom),
    ),
    lambda inner: st.one_of(
        inner.map(types.array),
        st.tuples(inner, inner).map(lambda pair: types.map_(*pair)),
        st.lists(st.tuples(names, inner), max_size=3).map(types.struct),
    ),
    max_leaves=4,
)


def _number(text: str) -> exp.Literal:
    return exp.Literal(this=text, is_string=False)


def _identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.from_regex(r"-?[0-9]{1,3}\.[0-9]{0,3}", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,3}\.[0-9]{0,3}E[+-]?[0-9]{1,2}", fullmatch=True),
).map(_number)
columns = st.builds(
    lambda name, table: exp.Column(
        this=_identifier(name), **({"table": _identifier(table)} if table else {})
    ),
    names,
    st.none() | names,
)
leaves = st.one_of(
    columns,
    numbers,
    texts.map(exp.Literal.string),
    st.booleans().map(lambda value: exp.Boolean(this=value)),
    st.builds(exp.Null),
)

# -- expressions ---------------------------------------------------------------------------------

BINARY: list[Any] = [exp.Or, exp.And, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE]
BINARY += [exp.NullSafeEQ, exp.NullSafeNEQ, exp.DPipe, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod]
BINARY += [exp.Like, exp.ILike, exp.SimilarTo, exp.RegexpLike, exp.RegexpILike]


def _lambda(names_: list[str], body: exp.Expr) -> exp.Expr:
    return exp.Lambda(this=body, expressions=list(map(_identifier, names_)))


def _case(this: Any, branches: list[tuple[Any, Any]], default: Any) -> exp.Expr:
    node = exp.Case(ifs=[exp.If(this=c, true=r) for c, r in branches])
    if this is not None:
        node.set("this", this)
    if default is not None:
        node.set("default", default)
    return node


def _escape(operand: Any, pattern: Any, character: str) -> exp.Expr:
    like = exp.Like(this=operand, expression=pattern)
    return exp.Escape(this=like, expression=exp.Literal.string(character))


def _map(pairs: list[tuple[Any, Any]]) -> exp.Expr:
    keys, values = [k for k, _ in pairs], [v for _, v in pairs]
    return exp.Map(keys=exp.Array(expressions=keys), values=exp.Array(expressions=values))


def _struct(pairs: list[tuple[str, Any]]) -> exp.Expr:
    return exp.Struct(
        expressions=[exp.PropertyEQ(this=_identifier(k), expression=v) for k, v in pairs]
    )


def _length(amount: int) -> exp.Expr:
    return exp.Interval(this=exp.Literal.string(str(amount)), unit=exp.Var(this="SECOND"))


_Bound = tuple[Any, str | None]
_SIDES = st.sampled_from(["PRECEDING", "FOLLOWING"])
_bounds: st.SearchStrategy[_Bound] = st.one_of(
    st.just(("CURRENT ROW", None)),
    st.tuples(st.just("UNBOUNDED"), _SIDES),
    st.tuples(st.integers(0, 99).map(lambda n: exp.Literal.number(n)), _SIDES),
    st.tuples(st.integers(0, 99).map(_length), _SIDES),
)


def _compound(e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(e, max_size=3)
    some = st.lists(e, min_size=1, max_size=3)
    arguments = st.one_of(
        e,
        st.builds(_lambda, st.lists(names, min_size=1, max_size=2), e),
        st.sampled_from(["SECONDS", "DAYS", "MILLISECOND"]).map(lambda u: exp.Var(this=u)),
    )
    return st.one_of(
        st.builds(lambda node, a, b: node(this=a, expression=b), st.sampled_from(BINARY), e, e),
        e.map(lambda x: exp.Not(this=x)),
        e.filter(lambda x: not isinstance(x, exp.Literal) or not x.is_number).map(
            lambda x: exp.Neg(this=x)
        ),
        e.map(lambda x: exp.Is(this=x, expression=exp.Null())),
        st.builds(lambda a, b, c: exp.Between(this=a, low=b, high=c), e, e, e),
        st.builds(lambda a, b: exp.In(this=a, expressions=b), e, some),
        st.builds(_escape, e, e, st.characters()),
        st.builds(_case, st.none() | e, st.lists(st.tuples(e, e), min_size=1), st.none() | e),
        st.builds(lambda a, t: exp.Cast(this=a, to=t), e, sql_types),
        st.builds(
            lambda f, a: exp.Anonymous(this=f, expressions=a),
            callable_names,
            st.lists(arguments, max_size=3),
        ),
        callable_names.map(lambda f: exp.Anonymous(this=f, expressions=[exp.Star()])),
        st.builds(_distinct, callable_names, some),
        st.builds(
            lambda f, c: exp.Filter(this=_distinct(f, [c]), expression=c.copy()), callable_names, e
        ),
        st.builds(lambda f, v: exp.Extract(this=exp.Var(this=f), expression=v), callable_names, e),
        st.builds(
            lambda n, u: exp.Interval(
                this=exp.Literal.string(str(n)), unit=exp.Var(this=u) if u else None
            ),
            st.integers(-99, 99),
            st.sampled_from(["DAY", "MONTH", "SECOND"]),
        ),
        st.builds(lambda a, f: exp.Dot(this=a, expression=_identifier(f)), e, names),
        st.builds(lambda a, i: exp.Bracket(this=a, expressions=[i]), e, e),
        lists.map(lambda items: exp.Array(expressions=items)),
        st.lists(st.tuples(e, e), max_size=2).map(_map),
        st.lists(st.tuples(names, e), max_size=2).map(_struct),
        st.builds(
            _over,
            callable_names,
            lists,
            lists,
            st.lists(st.tuples(e, st.booleans()), max_size=2),
            st.none() | st.tuples(st.sampled_from(["ROWS", "RANGE"]), _bounds, _bounds),
            st.none() | st.integers(0, 99),
        ),
        st.builds(lambda a, z: exp.AtTimeZone(this=a, zone=exp.Literal.string(z)), e, texts),
    )


def _distinct(name: str, arguments: list[Any]) -> exp.Expr:
    distinct = exp.Distinct(expressions=arguments)
    return exp.Anonymous(this=name, expressions=[distinct])


def _over(
    name: str,
    arguments: list[Any],
    keys: list[Any],
    orders: list[Any],
    frame: tuple[str, _Bound, _Bound] | None,
    grace: int | None,
) -> exp.Expr:
    ordered = [exp.Ordered(this=e, desc=down) for e, down in orders]
    call = exp.Anonymous(this=name, expressions=arguments)
    order = exp.Order(expressions=ordered) if ordered else None
    window = exp.Window(this=call, partition_by=keys, order=order, spec=frame and _frame(*frame))
    if grace is not None:
        window.set("grace", _length(grace))
    return window


def _frame(kind: str, first: _Bound, last: _Bound) -> exp.Expr:
    (start, start_side), (end, end_side) = (
        (d.copy() if isinstance(d, exp.Expr) else d, side) for d, side in (first, last)
    )
    return exp.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)


def _copied(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Nodes know their parent: each use needs its own."""
    return strategy.map(lambda node: node.copy())


expressions = st.recursive(_copied(leaves), lambda e: _copied(_compound(e)), max_leaves=8)

# -- queries -------------------------------------------------------------------------------------

durations = st.builds(n.Duration, st.integers(0, 10**6), st.sampled_from(list(n.Duration.UNITS_MS)))
maybe_duration = st.none() | durations
offsets = st.dictionaries(st.integers(0, 9), st.integers(0, 2**40), min_size=1, max_size=2)
starts = st.one_of(
    st.sampled_from([n.Start.BEGINNING, n.Start.LATEST]).map(n.StartPosition),
    texts.map(lambda text: n.StartPosition(n.Start.TIMESTAMP, text)),
    offsets.map(
        lambda given: n.StartPosition(n.Start.OFFSETS, offsets=tuple(sorted(given.items())))
    ),
)
sources = st.builds(n.SourceRef, source_names, st.none() | names, st.none(), st.none() | starts)
rows_of_values = st.integers(1, 2).flatmap(
    lambda width: st.builds(
        n.ValueRows,
        st.lists(
            st.lists(expressions, min_size=width, max_size=width).map(tuple),
            min_size=1,
            max_size=2,
        ).map(tuple),
        st.none() | names,
        st.just(()) | st.lists(names, min_size=width, max_size=width).map(tuple),
    )
)
named_sources = st.builds(n.SourceRef, source_names)
no_keys: st.SearchStrategy[tuple[n.Expression, ...]] = st.just(())
window_functions = st.one_of(
    st.builds(
        n.WindowFunction,
        named_sources,
        st.builds(n.Window, st.just(kind), durations, advances),
        st.none() | names,
        keys,
        st.none() | names,
    )
    for kind, advances, keys in (
        (WindowType.TUMBLING, st.none(), no_keys),
        (WindowType.HOPPING, durations, no_keys),
        (WindowType.CUMULATING, durations, no_keys),
        (WindowType.SESSION, st.none(), st.lists(expressions, max_size=2).map(tuple)),
    )
)
matches = st.builds(
    n.MatchRecognize,
    sources | st.deferred(lambda: subqueries),
    st.lists(st.builds(n.SelectExpression, expressions, names), min_size=1, max_size=2).map(tuple),
    patterns(names),
    st.lists(st.builds(n.Definition, names, expressions), min_size=1, max_size=2).map(tuple),
    st.lists(expressions, max_size=2).map(tuple),
    st.lists(
        st.builds(lambda e, down: exp.Ordered(this=e, desc=down), expressions, st.booleans()),
        max_size=2,
    ).map(tuple),
    maybe_duration,
    st.booleans(),
    after_match(names),
    maybe_duration,
    st.none() | st.tuples(names, st.lists(names, min_size=1, max_size=2).map(tuple)),
    st.none() | names,
)
sides = sources | rows_of_values | window_functions | matches | st.deferred(lambda: subqueries)
conditional = st.sampled_from([kind for kind in n.JoinType if kind is not n.JoinType.CROSS])
withins = st.none() | st.builds(n.Within, durations, durations, maybe_duration)
joins = st.one_of(
    st.builds(
        n.Join,
        sides,
        sides,
        conditional,
        st.none(),
        withins,
        using=st.lists(names, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(n.Join, sides, sides, conditional, expressions, withins),
    st.builds(n.Join, sides, sides, st.just(n.JoinType.CROSS), st.none()),
)
windows = st.one_of(
    st.builds(
        n.Window,
        st.sampled_from([WindowType.TUMBLING, WindowType.SESSION]),
        durations,
        st.none(),
        maybe_duration,
        maybe_duration,
    ),
    st.builds(
        n.Window,
        st.sampled_from([WindowType.HOPPING, WindowType.CUMULATING]),
        durations,
        durations,
        maybe_duration,
        maybe_duration,
    ),
)
items = st.one_of(
    st.builds(n.SelectExpression, expressions, st.none() | names),
    st.builds(n.SelectAll, st.none() | names),
    st.builds(n.SelectStruct, expressions),
)
groupings = st.lists(expressions, max_size=2).map(tuple)


def _selects(
    relations: st.SearchStrategy[Any],
    conditions: st.SearchStrategy[Any],
    **others: st.SearchStrategy[Any],
) -> st.SearchStrategy[n.Query]:
    return st.builds(
        n.Query,
        st.lists(items, min_size=1, max_size=3).map(tuple),
        relations,
        window=st.none() | windows,
        where=st.none() | conditions,
        group_by=groupings,
        partition_by=groupings,
        having=st.none() | expressions,
        qualify=st.none() | expressions,
        distinct=st.booleans(),
        **others,
    )


ends: dict[str, st.SearchStrategy[Any]] = {
    "emit": st.none() | st.sampled_from(n.Emit),
    "limit": st.none() | st.integers(-5, 10**6),
    "offset": st.none() | st.integers(0, 10**6),
}
# Queries inside others are plain, so that examples stay small.
inner_queries = _selects(sources, expressions, **ends)
subqueries = st.builds(n.Subquery, inner_queries, st.none() | names)
semi_joins = st.one_of(
    st.builds(lambda a, q: exp.In(this=a, query=q), expressions, inner_queries),
    inner_queries.map(lambda q: exp.Exists(this=q)),
    st.builds(lambda a, q: exp.Not(this=exp.In(this=a, query=q)), expressions, inner_queries),
)
common_tables = st.lists(
    st.builds(n.CommonTable, source_names, inner_queries), max_size=2, unique_by=lambda t: t.name
).map(tuple)
queries = _selects(
    sides | joins | st.just(n.ValueRows()),
    expressions | _copied(semi_joins),
    **ends,
    union=st.lists(
        _selects(sides, expressions, set_operator=st.sampled_from(n.SetOperator)), max_size=1
    ).map(tuple),
    common_tables=common_tables,
)

# -- statements ----------------------------------------------------------------------------------

property_values = st.one_of(
    texts, st.integers(-(2**31), 2**31), st.booleans(), st.floats(-1e9, 1e9).map(float)
)
properties = st.lists(
    st.builds(n.Property, folded, property_values), max_size=3, unique_by=lambda p: p.name
).map(tuple)
kinds = st.sampled_from(Kind)
flags = st.booleans()


@st.composite
def column_definitions(draw: st.DrawFn, kind: Kind) -> tuple[n.ColumnDefinition, ...]:
    key = n.ColumnRole.KEY if kind is Kind.STREAM else n.ColumnRole.PRIMARY_KEY
    roles = st.sampled_from([n.ColumnRole.VALUE, key, n.ColumnRole.HEADERS, n.ColumnRole.HEADER])
    result = []
    for _ in range(draw(st.integers(0, 3))):
        role = draw(roles)
        header = draw(texts) if role is n.ColumnRole.HEADER else None
        result.append(n.ColumnDefinition(draw(names), draw(sql_types), role, header))
    return tuple(result)


constraints = st.lists(
    st.builds(n.ConstraintDefinition, names, expressions, st.sampled_from(OnViolation)), max_size=1
).map(tuple)
created_sources = kinds.flatmap(
    lambda kind: st.builds(
        n.CreateSource,
        st.just(kind),
        source_names,
        column_definitions(kind),
        properties,
        flags,
        flags,
        flags,
        constraints,
    )
)
plain_columns = st.lists(st.builds(n.ColumnDefinition, names, sql_types), min_size=1, max_size=2)
values = st.lists(expressions, max_size=3).map(tuple)
topics = st.text(min_size=1, max_size=8)
parameters = st.lists(
    st.builds(n.Parameter, names, sql_types), max_size=2, unique_by=lambda p: p.name
).map(tuple)
statements = st.one_of(
    created_sources,
    st.builds(
        n.CreateAsSelect, kinds, source_names, queries, properties, flags, flags, constraints
    ),
    st.builds(n.InsertInto, source_names, queries, properties),
    st.builds(n.InsertValues, source_names, values, more=st.lists(values, max_size=1).map(tuple)),
    st.builds(n.DropSource, kinds, source_names, flags, flags, flags),
    st.builds(
        n.CreateView, source_names, queries, st.lists(names, max_size=2).map(tuple), flags, flags
    ),
    st.builds(n.DropView, source_names, flags, flags),
    st.builds(n.CreateSink, source_names, source_names, properties, flags, flags),
    st.builds(n.CreateSinkOfAll, source_names, properties, flags, flags),
    st.builds(n.DropSink, source_names, flags),
    st.builds(n.DescribeSink, source_names),
    st.builds(
        n.CreateFunction,
        *(folded, parameters, sql_types, texts, flags, flags, flags),
        st.sampled_from(["PYTHON", "SQL"]),
    ),
    st.builds(n.DropFunction, folded, flags),
    st.builds(n.AlterSource, kinds, source_names, plain_columns.map(tuple)),
    st.builds(n.Comment, kinds, source_names, st.none() | texts),
    st.builds(n.CreateType, names, sql_types, flags),
    st.builds(n.SelectQuery, queries),
    st.builds(n.Explain, st.builds(n.SelectQuery, queries), st.none(), flags),
    st.builds(n.Explain, st.none(), folded, flags),
    st.builds(n.Print, topics, flags, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
    st.builds(n.Describe, source_names.filter(lambda name: name != "STREAMS"), flags),
    st.builds(n.ControlQuery, st.sampled_from(n.QueryAction), st.none() | folded),
    st.builds(n.AlterQuery, folded, properties.filter(bool)),
    st.builds(n.SetProperty, texts, texts),
    st.builds(n.AssertTopic, topics, properties, maybe_duration, flags),
    st.builds(n.AssertSchema, st.none() | topics, st.none() | st.integers(0, 99)),
)

# -- text ----------------------------------------------------------------------------------------

pieces = st.one_of(
    st.sampled_from(sorted(KEYWORDS)),
    st.sampled_from(sorted(SYMBOLS)),
    st.sampled_from(["a", "B", "`c`", '"d"', "'e'", "1", "1.5", "1e3", "3x", "${v}", "$${v}"]),
    st.sampled_from(["'", "`", '"', "/*", "--", "\n", " ", "é", "!", "\\", "\x00", "\u2028"]),
    st.text(max_size=3),
)
fragments = st.lists(pieces, max_size=15).map(" ".join)
