"""Queries that sqlglot has parsed as syntax nodes."""

from __future__ import annotations

from sqlglot import exp, parse_one

from streamsql import nodes
from streamsql.nodes import Expression, JoinType, SetOperator


def query(text: str) -> nodes.Query:
    return _query(parse_one(text, dialect="postgres"))


def _fold(identifier: exp.Expr | None) -> str:
    if identifier is None:
        return ""
    return identifier.name if identifier.args.get("quoted") else identifier.name.upper()


def _query(tree: exp.Expr) -> nodes.Query:
    while isinstance(tree, exp.Subquery | exp.Paren) and not tree.args.get("order"):
        tree = tree.this
    with_ = tree.args.get("with_")
    tables = tuple(
        nodes.CommonTable(
            _fold(cte.args["alias"].this),
            _query(cte.this),
            columns=tuple(_fold(c) for c in cte.args["alias"].args.get("columns") or ()),
        )
        for cte in (with_.expressions if with_ else ())
    )
    ends = {
        "common_tables": tables,
        "recursive": bool(with_ and with_.args.get("recursive")),
        "order_by": tuple(
            _ordered(o)
            for o in (tree.args.get("order").expressions if tree.args.get("order") else ())
        ),
        "limit": _int(tree.args.get("limit")),
        "offset": _int(tree.args.get("offset")),
    }
    if isinstance(tree, exp.SetOperation):
        parts = _parts(tree)
        first, *rest = parts
        head = _query(first[1])
        if head.union or head.order_by or head.limit is not None or head.common_tables:
            head = nodes.Query((nodes.SelectAll(),), nodes.Subquery(head, "FIRST"))
        union = tuple(
            nodes.Query(**{**_query(part).__dict__, "set_operator": operator})
            for operator, part in rest
        )
        return nodes.Query(**{**head.__dict__, **ends, "union": union})
    if isinstance(tree, exp.Values):
        return nodes.Query((nodes.SelectAll(),), _relation(tree), **ends)
    return nodes.Query(**{**_select(tree).__dict__, **ends})


def _int(node: exp.Expr | None) -> int | None:
    return None if node is None else int(node.expression.name)


def _parts(tree: exp.Expr) -> list[tuple[SetOperator, exp.Expr]]:
    name = type(tree).__name__.upper() + ("" if tree.args.get("distinct") else " ALL")
    left = tree.this
    right = (SetOperator(name), tree.expression)
    if isinstance(left, exp.SetOperation):
        return [*_parts(left), right]
    return [(SetOperator.UNION_ALL, left), right]


def _select(tree: exp.Expr) -> nodes.Query:
    items = tuple(_item(item) for item in tree.expressions)
    from_ = tree.args.get("from_")
    relation = _relation(from_.this) if from_ else nodes.ValueRows()
    for join in tree.args.get("joins") or ():
        relation = _join(relation, join)
    for lateral in tree.args.get("laterals") or ():
        relation = nodes.Join(relation, _relation(lateral), JoinType.CROSS, None)
    group = tree.args.get("group")
    keys, sets = _grouping(group)
    distinct = tree.args.get("distinct")
    on = distinct.args.get("on") if distinct else None
    return nodes.Query(
        items,
        relation,
        where=_clause(tree, "where"),
        having=_clause(tree, "having"),
        qualify=_clause(tree, "qualify"),
        group_by=keys,
        grouping_sets=sets,
        distinct=bool(distinct) and on is None,
        distinct_on=tuple(_expression(e) for e in on.expressions) if on else (),
    )


def _grouping(group: exp.Expr | None):
    if group is None:
        return (), None
    sets_, rollups, cubes, plain = [], [], [], []
    for e in group.expressions:
        kind = {exp.GroupingSets: sets_, exp.Rollup: rollups, exp.Cube: cubes}.get(type(e))
        plain.append(_expression(e)) if kind is None else kind.append(e)
    factors = []
    for sets in [*sets_, *(group.args.get("grouping_sets") or ())]:
        factors.append([_members(e) for e in sets.expressions])
    for rollup in [*rollups, *(group.args.get("rollup") or ())]:
        each = [_members(e) for e in rollup.expressions]
        factors.append([sum(each[:n], []) for n in range(len(each), -1, -1)])
    for cube in [*cubes, *(group.args.get("cube") or ())]:
        each = [_members(e) for e in cube.expressions]
        factors.append(
            [
                sum((m for bit, m in enumerate(each) if not mask >> (len(each) - 1 - bit) & 1), [])
                for mask in range(2 ** len(each))
            ]
        )
    if not factors:
        return tuple(plain), None
    sets = [plain]
    for factor in factors:
        sets = [a + b for a in sets for b in factor]
    keys: list[Expression] = []
    for members in sets:
        keys += [m for m in members if m not in keys]
    return tuple(keys), tuple(tuple(s) for s in sets)


def _members(node: exp.Expr) -> list[Expression]:
    if isinstance(node, exp.Tuple):
        return [_expression(e) for e in node.expressions]
    if isinstance(node, exp.Paren):
        return [_expression(node.this)]
    return [_expression(node)]


def _clause(tree: exp.Expr, name: str) -> Expression | None:
    node = tree.args.get(name)
    return None if node is None else _expression(node.this)


def _item(node: exp.Expr) -> nodes.SelectItem:
    if isinstance(node, exp.Star):
        return nodes.SelectAll()
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return nodes.SelectAll(_fold(node.args["table"]))
    if isinstance(node, exp.Alias):
        return nodes.SelectExpression(_expression(node.this), _fold(node.args["alias"]))
    return nodes.SelectExpression(_expression(node))


def _alias(node: exp.Expr) -> tuple[str | None, tuple[str, ...]]:
    alias = node.args.get("alias")
    if alias is None:
        return None, ()
    columns = tuple(_fold(c) for c in alias.args.get("columns") or ())
    return _fold(alias.this) or None, columns


def _relation(node: exp.Expr, lateral: bool = False) -> nodes.Relation:
    alias, columns = _alias(node)
    match node:
        case exp.Table() if isinstance(node.this, exp.Func):
            found: nodes.Relation = nodes.TableFunction(
                _expression(node.this), alias, columns, bool(node.args.get("ordinality"))
            )
        case exp.Table():
            found = nodes.SourceRef(_fold(node.this), alias, columns=columns)
        case exp.Lateral():
            if isinstance(node.this, exp.Subquery):
                inner = _query(node.this.this)
                found = nodes.Subquery(inner, alias, columns=columns, lateral=True)
            else:
                found = nodes.TableFunction(
                    _expression(node.this), alias, columns, bool(node.args.get("ordinality"))
                )
        case exp.Unnest():
            call = exp.Anonymous(
                this="UNNEST", expressions=[_expression(e) for e in node.expressions]
            )
            found = nodes.TableFunction(call, alias if alias and columns else alias, columns)
        case exp.Subquery() if isinstance(node.this, exp.Table | exp.Subquery | exp.Values):
            if isinstance(node.this, exp.Values):
                rows = tuple(
                    tuple(_expression(v) for v in row.expressions) for row in node.this.expressions
                )
                found = nodes.ValueRows(rows, alias, columns)
            elif isinstance(node.this, exp.Table):
                found = _relation(node.this)
                for join in node.this.args.get("joins") or ():
                    found = _join(found, join)
                for join in node.args.get("joins") or ():
                    found = _join(found, join)
                return found
            else:
                found = nodes.Subquery(_query(node.this), alias, columns=columns)
        case exp.Values():
            rows = tuple(tuple(_expression(v) for v in row.expressions) for row in node.expressions)
            found = nodes.ValueRows(rows, alias, columns)
        case exp.Subquery():
            found = nodes.Subquery(_query(node.this), alias, columns=columns)
        case _:
            raise NotImplementedError(repr(node))
    return found


def _join(left: nodes.Relation, join: exp.Expr) -> nodes.Relation:
    side = (join.args.get("side") or "").upper()
    on = join.args.get("on")
    using = tuple(_fold(c) for c in join.args.get("using") or ())
    natural = (join.args.get("method") or "").upper() == "NATURAL"
    kinds = {"LEFT": JoinType.LEFT, "RIGHT": JoinType.RIGHT, "FULL": JoinType.FULL}
    kind = kinds.get(side)
    if kind is None:
        kind = JoinType.INNER if on is not None or using or natural else JoinType.CROSS
    right = _relation(join.this)
    for inner in join.this.args.get("joins") or ():
        if not isinstance(join.this, exp.Subquery):
            right = _join(right, inner)
    return nodes.Join(
        left, right, kind, None if on is None else _expression(on), using=using, natural=natural
    )


def _ordered(node: exp.Expr) -> Expression:
    result = exp.Ordered(this=_expression(node.this), desc=bool(node.args.get("desc")))
    explicit = node.args.get("nulls_first")
    if explicit is not None:
        result.set("nulls_first", bool(explicit))
    return result


def _expression(node: exp.Expr) -> Expression:
    """Copies, with names folded and queries as nodes."""
    if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        return exp.Subquery(this=_query(node))
    match node:
        case exp.Paren():
            return _expression(node.this)
        case exp.Subquery():
            return exp.Subquery(this=_query(node.this))
        case exp.Exists():
            return exp.Exists(this=_query(node.this))
        case exp.In() if node.args.get("query") is not None:
            return exp.In(this=_expression(node.this), query=_query(node.args["query"]))
        case exp.Any() | exp.All():
            inner = node.this
            while isinstance(inner, exp.Paren):
                inner = inner.this
            if isinstance(inner, exp.Query):
                return type(node)(this=_query(inner))
            return type(node)(this=_expression(inner))
        case exp.Identifier():
            return exp.to_identifier(_fold(node), quoted=True)
        case exp.Array() if len(node.expressions) == 1 and isinstance(
            node.expressions[0], exp.Query
        ):
            return exp.Array(query=_query(node.expressions[0]))
        case exp.Bracket():
            return exp.Bracket(
                this=_expression(node.this),
                expressions=[
                    exp.Literal.number(int(e.name) + 1 - node.args.get("offset", 0))
                    if isinstance(e, exp.Literal)
                    else _expression(e)
                    for e in node.expressions
                ],
            )
        case exp.Ordered():
            return _ordered(node)
        case exp.Grouping():
            return exp.Anonymous(
                this="GROUPING", expressions=[_expression(e) for e in node.expressions]
            )
        case exp.DataType():
            return node.copy()
    copy = type(node)()
    for name, value in node.args.items():
        if isinstance(value, exp.Expr):
            copy.set(name, _expression(value))
        elif isinstance(value, list):
            copy.set(name, [_expression(v) if isinstance(v, exp.Expr) else v for v in value])
        elif name != "negate":
            copy.set(name, value)
    return exp.Not(this=copy) if node.args.get("negate") else copy
