"""Types of CASE, CAST, constructors, subscripts and struct fields."""

from __future__ import annotations

from sqlglot import exp

from streamsql import types
from streamsql.errors import BindError, TypeMismatchError, did_you_mean
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.planner.types.common import common_type_of
from streamsql.planner.types.comparisons import comparison
from streamsql.planner.types.empty import expected_type, expecting
from streamsql.planner.types.scope import Scope, cast_to, describe, span_of, text_of, typed
from streamsql.types import SQLType, type_of


def case(node: exp.Case, scope: Scope) -> Expression:
    """Types CASE, whose results get one type."""
    branches = [_branch(node, if_, scope) for if_ in node.args["ifs"]]
    default = scope.infer(node.args["default"]) if node.args.get("default") else None
    result: SQLType = types.NULL
    for branch in branches:
        result = _same_type(result, branch.args["true"], "Type for all 'THEN' clauses")
    if default is not None:
        result = _same_type(result, default, "Type for the default clause", default=True)
    if types.is_null(result):
        raise TypeMismatchError(
            "Invalid Case expression. All case branches have NULL type", span=span_of(node)
        )
    for branch in branches:
        branch.set("true", cast_to(branch.args["true"], result))
        branch.type = result.copy()
    if default is not None:
        return typed(node, result, ifs=branches, default=cast_to(default, result))
    return typed(node, result, ifs=branches)


def _branch(node: exp.Case, if_: exp.If, scope: Scope) -> Expression:
    if node.this is not None:
        # CASE x WHEN v: the same as WHEN x = v.
        equal = exp.EQ(this=node.this.copy(), expression=if_.this.copy())
        equal.meta.update(if_.this.meta)
        when = comparison(equal, scope)
    else:
        when = scope.infer(if_.this)
    if type_of(when) != types.BOOLEAN:
        raise TypeMismatchError(
            f"WHEN operand type should be boolean. Type for '{text_of(when)}' is "
            f"{types.to_sql(type_of(when))}",
            span=span_of(when) or span_of(node),
        )
    then = scope.infer(if_.args["true"])
    return typed(if_, type_of(then), this=when, true=then)


def _same_type(so_far: SQLType, branch: Expression, what: str, *, default: bool = False) -> SQLType:
    given = type_of(branch)
    if types.is_null(given) or given == so_far:
        return so_far
    if types.is_null(so_far):
        return given
    raise TypeMismatchError(
        f"Invalid Case expression. {what} should be the same. "
        f"Expected {types.to_sql(so_far)}, but '{text_of(branch)}' is {types.to_sql(given)}.",
        hint=f"Use CAST({text_of(branch)} AS {types.to_sql(so_far)}).",
        span=span_of(branch),
        ksqldb=says("case-default", then=types.to_sql(so_far), default=types.to_sql(given))
        if default
        else None,
    )


def cast(node: exp.Cast, scope: Scope) -> Expression:
    """Types CAST; TypeMismatchError if the types are not convertible."""
    # In ksqlDB's statements VARCHAR(3) is a text of any length.
    target = types.STRING.copy() if types.LENGTH in node.to.meta else node.to
    value = scope.infer(expecting(_dated(node.this, target), target))
    source = type_of(value)
    if not types.can_cast(source, target):
        # In a condition, the clause is named by `infer`.
        place = "Invalid Select: " if scope.clause == "SELECT" else ""
        raise TypeMismatchError(
            f"{place}Cast of {types.to_sql(source)} to {types.to_sql(target)} is not supported",
            span=span_of(node),
        )
    return typed(node, target, this=value, to=target.copy())


def _dated(value: Expression, target: SQLType) -> Expression:
    """A literal with the date of PostgreSQL's 'epoch'."""
    if target not in (types.DATE, types.TIMESTAMP) or not isinstance(value, exp.Literal):
        return value
    if not value.is_string or value.name.strip().lower() != "epoch":
        return value
    day = exp.Literal.string("1970-01-01")
    day.meta.update(value.meta)
    return day


def array(node: exp.Array, scope: Scope) -> Expression:
    """Types ARRAY[..], whose elements get one type."""
    elements = [scope.infer(e) for e in node.expressions]
    if not elements and types.is_array(expected := expected_type(node)):
        return typed(node, expected, expressions=[])
    if not elements:
        raise TypeMismatchError(
            "Array constructor cannot be empty. Please supply at least one element "
            "(see https://github.com/confluentinc/ksql/issues/4239).",
            span=span_of(node),
        )
    element = common_type_of(elements, "Cannot construct an array: ")
    if types.is_null(element):
        raise TypeMismatchError(
            "Cannot construct an array with all NULL elements "
            "(see https://github.com/confluentinc/ksql/issues/4239). As a workaround, you may "
            "cast a NULL value to the desired type.",
            span=span_of(node),
        )
    cast_elements = [cast_to(e, element) for e in elements]
    return typed(node, types.array(element), expressions=cast_elements)


def map_(node: exp.Map, scope: Scope) -> Expression:
    """Types MAP(..), whose keys and values each get one type."""
    keys = [scope.infer(k) for k in node.args["keys"].expressions]
    values = [scope.infer(v) for v in node.args["values"].expressions]
    if not keys and types.is_map(expected := expected_type(node)):
        return typed(
            node,
            expected,
            keys=typed(exp.Array(), types.array(types.key_type(expected)), expressions=[]),
            values=typed(exp.Array(), types.array(types.element_type(expected)), expressions=[]),
        )
    if not keys:
        raise TypeMismatchError(
            "Map constructor cannot be empty. Please supply at least one key value pair "
            "(see https://github.com/confluentinc/ksql/issues/4239).",
            span=span_of(node),
        )
    parts: list[Expression] = []
    for items, what in ((keys, "keys"), (values, "values")):
        element = common_type_of(items, "Cannot construct a map: ")
        if types.is_null(element):
            raise TypeMismatchError(
                f"Cannot construct a map with all NULL {what} "
                "(see https://github.com/confluentinc/ksql/issues/4239). As a workaround, you "
                "may cast a NULL value to the desired type.",
                span=span_of(node),
            )
        part = exp.Array(expressions=[cast_to(i, element) for i in items])
        part.type = types.array(element)
        parts.append(part)
    key, value = (types.element_type(type_of(p)) for p in parts)
    return typed(node, types.map_(key, value), keys=parts[0], values=parts[1])


def struct(node: exp.Struct, scope: Scope) -> Expression:
    fields: list[Expression] = []
    kinds: list[tuple[str, SQLType]] = []
    for field in node.expressions:
        value = scope.infer(field.expression)
        if types.is_null(type_of(value)):
            raise TypeMismatchError(
                f"Can't infer a type of null. Please explicitly cast field {field.this.name} "
                "to a required type, e.g. CAST(null AS VARCHAR).",
                span=span_of(field) or span_of(node),
            )
        if field.this.name in (name for name, _ in kinds):
            raise TypeMismatchError(
                "Duplicate field names found in STRUCT", span=span_of(field) or span_of(node)
            )
        kinds.append((field.this.name, type_of(value)))
        fields.append(typed(field, type_of(value), this=field.this.copy(), expression=value))
    return typed(node, types.struct(kinds), expressions=fields)


def subscript(node: exp.Bracket, scope: Scope) -> Expression:
    """Types `a[i]` of an ARRAY or a MAP."""
    base, index = scope.infer(node.this), scope.infer(node.expressions[0])
    base_type, index_type = type_of(base), type_of(index)
    if types.is_array(base_type):
        wanted, text = types.INT, "array index"
        fits = index_type in (types.INT, types.BIGINT)
        wanted = index_type if fits else wanted
    elif types.is_map(base_type):
        wanted, text = types.key_type(base_type), "map key"
        fits = types.widens_to(index_type, wanted) and not types.is_null(index_type)
    else:
        raise TypeMismatchError(
            f"[..] needs an ARRAY or a MAP, but got {describe(base)}",
            hint="Use -> for a field of a STRUCT." if types.is_struct(base_type) else None,
            span=span_of(node),
            ksqldb=says("subscript", expression=text_of(node), type=types.to_sql(base_type)),
        )
    if not fits:
        raise TypeMismatchError(
            f"{describe(index)} can't be the {text} of {text_of(base)}: it has to be "
            f"{types.to_sql(wanted)}",
            span=span_of(index) or span_of(node),
        )
    return typed(
        node, types.element_type(base_type), this=base, expressions=[cast_to(index, wanted)]
    )


def field(node: exp.Dot, scope: Scope) -> Expression:
    """Types `s->f`; BindError if the STRUCT lacks the field."""
    base, name = scope.infer(node.this), node.expression.name
    base_type = type_of(base)
    if not types.is_struct(base_type):
        raise TypeMismatchError(f"-> needs a STRUCT, but got {describe(base)}", span=span_of(node))
    kinds = dict(types.fields(base_type))
    if name not in kinds:
        raise BindError(
            f"Could not find field '{name}' in '{text_of(base)}'.",
            hint=did_you_mean(name, kinds),
            span=span_of(node.expression) or span_of(node),
        )
    return typed(node, kinds[name], this=base, expression=node.expression.copy())
