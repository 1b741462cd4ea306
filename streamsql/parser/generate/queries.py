"""Queries to canonical SQL: SELECT with its clauses, FROM, joins and windows."""

from __future__ import annotations

from sqlglot.expressions import Expr

from streamsql import nodes as n
from streamsql.nodes import Duration
from streamsql.parser.generate.expressions import PRIMARY, VALUE, expression_sql, name, string
from streamsql.parser.generate.patterns import pattern
from streamsql.parser.generate.text import listed, to_sql, words
from streamsql.schema import WindowType


@to_sql.register
def _expression(node: Expr) -> str:
    return expression_sql(node)


@to_sql.register
def duration(node: Duration) -> str:
    """An amount and its unit, singular for one."""
    return f"{node.amount} {node.unit}{'' if node.amount == 1 else 'S'}"


@to_sql.register
def _query(node: n.Query) -> str:
    with_ = "WITH RECURSIVE" if node.recursive else "WITH"
    fetch = f"FETCH FIRST {node.limit} ROWS WITH TIES" if node.with_ties else None
    return words(
        node.common_tables and f"{with_} {', '.join(map(_common_table, node.common_tables))}",
        _select(node),
        *(
            words(other.set_operator.value, _matched(other.matched), _combined(other))
            for other in node.union
        ),
        node.order_by and f"ORDER BY {', '.join(map(to_sql, node.order_by))}",
        node.emit and f"EMIT {node.emit.value}",
        f"LIMIT {node.limit}" if node.limit is not None and not fetch else None,
        f"OFFSET {node.offset}" if node.offset is not None else None,
        fetch,
    )


def _matched(node: n.Matched | None) -> str:
    if node is None or node.every:
        return "BY NAME" if node else ""
    return words("CORRESPONDING", node.columns and f"BY {_columns(node.columns)}")


def _combined(node: n.Query) -> str:
    """One of a set operation: in parentheses if it has clauses that a SELECT alone has not."""
    alone = _select(node)
    text = to_sql(node)
    return text if text == alone else listed(text)


def _select(node: n.Query) -> str:
    return words(
        "SELECT",
        node.distinct and "DISTINCT",
        node.distinct_on and f"ON {listed(*map(to_sql, node.distinct_on))}",
        ", ".join(map(to_sql, node.items)),
        node.relation != n.ValueRows() and f"FROM {to_sql(node.relation)}",
        node.window and to_sql(node.window),
        node.where and f"WHERE {to_sql(node.where)}",
        _group_by(node),
        node.partition_by and f"PARTITION BY {_grouping(node.partition_by)}",
        node.having and f"HAVING {to_sql(node.having)}",
        node.qualify and f"QUALIFY {to_sql(node.qualify)}",
    )


@to_sql.register
def _common_table(node: n.CommonTable) -> str:
    return f"{words(name(node.name), _columns(node.columns))} AS {listed(to_sql(node.query))}"


def _group_by(node: n.Query) -> str:
    if node.grouping_sets is None:
        if node.groups_by_all:
            return "GROUP BY ALL"
        return f"GROUP BY {_grouping(node.group_by)}" if node.group_by else ""
    sets = (listed(_grouping(keys)) for keys in node.grouping_sets)
    return f"GROUP BY GROUPING SETS {listed(*sets)}"


def _grouping(expressions: tuple[n.Expression, ...]) -> str:
    return ", ".join(expression_sql(e, VALUE) for e in expressions)


@to_sql.register
def _select_expression(node: n.SelectExpression) -> str:
    alias = f" AS {name(node.alias)}" if node.alias is not None else ""
    return to_sql(node.expression) + alias


@to_sql.register
def _select_all(node: n.SelectAll) -> str:
    star = "*" if node.source is None else f"{name(node.source)}.*"
    return words(star, node.excluded and f"EXCLUDE {listed(*map(name, node.excluded))}")


@to_sql.register
def _select_struct(node: n.SelectStruct) -> str:
    return f"{expression_sql(node.expression, PRIMARY)}->*"


@to_sql.register
def _source_ref(node: n.SourceRef) -> str:
    start = node.start and to_sql(node.start)
    version = node.version and to_sql(node.version)
    return words(name(node.name), version, _alias(node.alias), _columns(node.columns), start)


@to_sql.register
def _version(node: n.VersionAsOf) -> str:
    if node.now:
        return "FOR SYSTEM_TIME AS OF PROCTIME()"
    if node.timestamp is not None:
        return f"FOR TIMESTAMP AS OF {string(node.timestamp)}"
    version = node.version or ""
    return f"FOR VERSION AS OF {version if version.isdecimal() else string(version)}"


@to_sql.register
def _subquery(node: n.Subquery) -> str:
    lateral = "LATERAL" if node.lateral else ""
    query = listed(to_sql(node.query))
    return words(lateral, query, _alias(node.alias), _columns(node.columns))


@to_sql.register
def _table_function(node: n.TableFunction) -> str:
    ordinality = "WITH ORDINALITY" if node.ordinality else ""
    return words(to_sql(node.call), ordinality, _alias(node.alias), _columns(node.columns))


@to_sql.register
def _value_rows(node: n.ValueRows) -> str:
    rows = ", ".join(listed(*map(expression_sql, row)) for row in node.rows)
    return words(listed(f"VALUES {rows}"), _alias(node.alias), _columns(node.columns))


def _columns(names: tuple[str, ...]) -> str:
    return listed(*map(name, names)) if names else ""


_FUNCTIONS = {
    WindowType.TUMBLING: "TUMBLE",
    WindowType.HOPPING: "HOP",
    WindowType.CUMULATING: "CUMULATE",
    WindowType.SESSION: "SESSION",
}


@to_sql.register
def _window_function(node: n.WindowFunction) -> str:
    keys = ", ".join(expression_sql(key, VALUE) for key in node.partition_by)
    keys = f"({keys})" if len(node.partition_by) > 1 else keys
    sizes = [node.window.advance, node.window.size]
    arguments = [
        words("TABLE", to_sql(node.source), keys and f"PARTITION BY {keys}"),
        f"DESCRIPTOR({'PROCTIME()' if node.time is None else name(node.time)})",
        *(f"INTERVAL '{size.amount}' {size.unit}" for size in sizes if size is not None),
    ]
    return words(_FUNCTIONS[node.window.type] + listed(*arguments), _alias(node.alias))


@to_sql.register
def _match_recognize(node: n.MatchRecognize) -> str:
    clauses = words(
        node.partition_by and f"PARTITION BY {_grouping(node.partition_by)}",
        node.order_by and f"ORDER BY {', '.join(map(to_sql, node.order_by))}",
        node.grace and f"GRACE PERIOD {duration(node.grace)}",
        f"MEASURES {', '.join(map(to_sql, node.measures))}",
        f"{'ALL ROWS' if node.all_rows else 'ONE ROW'} PER MATCH",
        f"AFTER MATCH SKIP {node.after.to.value}",
        node.after.variable and name(node.after.variable),
        f"PATTERN ({pattern(node.pattern)})",
        node.within and f"WITHIN {duration(node.within)}",
        node.subset and f"SUBSET {name(node.subset[0])} = {listed(*map(name, node.subset[1]))}",
        f"DEFINE {', '.join(map(_definition, node.definitions))}",
    )
    return words(to_sql(node.source), f"MATCH_RECOGNIZE ({clauses})", _alias(node.alias))


def _definition(node: n.Definition) -> str:
    return f"{name(node.variable)} AS {to_sql(node.condition)}"


def _alias(alias: str | None) -> str:
    return "" if alias is None else f"AS {name(alias)}"


@to_sql.register
def _start_position(node: n.StartPosition) -> str:
    rest = ""
    if node.timestamp is not None:
        rest = string(node.timestamp)
    elif node.offsets:
        rest = listed(*(string(f"{partition}:{offset}") for partition, offset in node.offsets))
    return words(f"FROM {node.start.value}", rest)


@to_sql.register
def _join(node: n.Join) -> str:
    right = to_sql(node.right)
    return words(
        to_sql(node.left),
        node.natural and "NATURAL",
        node.asof and "ASOF",
        "" if node.type is n.JoinType.INNER else node.type.value,
        "JOIN",
        listed(right) if isinstance(node.right, n.Join) else right,
        node.within and to_sql(node.within),
        node.using and f"USING {listed(*map(name, node.using))}",
        node.on and f"ON {to_sql(node.on)}",
    )


@to_sql.register
def _within(node: n.Within) -> str:
    size = duration(node.before)
    if node.before != node.after:
        size = listed(size, duration(node.after))
    return words("WITHIN", size, node.grace and f"GRACE PERIOD {duration(node.grace)}")


@to_sql.register
def _window(node: n.Window) -> str:
    size = "" if node.type is WindowType.SESSION else "SIZE "
    parts = [size + duration(node.size)]
    if node.advance is not None:
        parts.append(f"ADVANCE BY {duration(node.advance)}")
    if node.retention is not None:
        parts.append(f"RETENTION {duration(node.retention)}")
    if node.grace is not None:
        parts.append(f"GRACE PERIOD {duration(node.grace)}")
    return f"WINDOW {node.type.value} {listed(*parts)}"
