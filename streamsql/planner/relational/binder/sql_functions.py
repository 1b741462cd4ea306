"""Functions that users write in SQL: a call is the expression that the function's query selects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from sqlglot import exp

from streamsql import nodes, types
from streamsql.errors import StreamSQLError, TypeMismatchError, UnsupportedError
from streamsql.functions.user import SqlFunction, find_user_function
from streamsql.nodes import Expression
from streamsql.parser import parse_one
from streamsql.parser.tokens.lexer import lexemes
from streamsql.planner.relational import typing
from streamsql.planner.relational.algebra import Field
from streamsql.planner.relational.binder.rules import Allowed
from streamsql.planner.relational.binder.scopes import Bound, Entry, Scope
from streamsql.planner.relational.expressions import cast, substituted
from streamsql.planner.relational.typing import kind_of
from streamsql.types import SQLType, quote

BindBody = Callable[[Expression, Scope], Expression]
BODY = Allowed("a function of SQL")
_NUMBER = re.compile(r"[0-9]+")
_CHANGING = (exp.Rand, exp.Uuid)
_FORM = "Write SELECT and one expression over the parameters, such as SELECT $1 + 1."


def check(function: SqlFunction, bind: BindBody) -> None:
    """Raises a StreamSQLError where the function's text is no expression of its type."""
    if function.name in _called(function):
        raise UnsupportedError(f"{function.name} calls itself, which no function of SQL does.")
    try:
        _body(function, bind)
    except StreamSQLError as error:
        error.span = None  # a place in the function's text, not in the statement
        raise


def inlined(function: SqlFunction, arguments: Sequence[Expression], bind: BindBody) -> Expression:
    """The call, over arguments that are bound."""
    given = ", ".join(typing.name(kind_of(argument)) for argument in arguments)
    kinds = [kind for _, kind in function.parameters]
    fits = len(kinds) == len(arguments) and all(map(_fits, map(kind_of, arguments), kinds))
    if not fits:
        takes = ", ".join(map(typing.name, kinds))
        raise TypeMismatchError(
            f"function {function.name}({given}) does not exist",
            hint=f"It takes ({takes}).",
        )
    values = {
        field.id: typing.coerced(argument, field.type)
        for field, argument in zip(_fields(function), arguments, strict=True)
    }
    body = _body(function, bind)
    for column in body.find_all(exp.Column):
        uses = sum(other.name == column.name for other in body.find_all(exp.Column))
        if uses > 1 and values[column.name].find(*_CHANGING):
            raise UnsupportedError(
                f"{function.name} uses an argument twice, which has another value each time.",
                hint="Compute the argument in a subquery in FROM.",
            )
    return substituted(body, values)


def _body(function: SqlFunction, bind: BindBody) -> Expression:
    """The expression over the fields of the parameters."""
    columns = [(field.name, field) for field in _fields(function)]
    numbered = [(f"${n}", field) for n, (_, field) in enumerate(columns, 1)]
    scope = Scope((Entry(None, (*columns, *(one for one in numbered if one not in columns))),))
    bound = bind(_expression(function.code), scope)
    own = kind_of(bound)
    numbers = types.is_numeric(own) and types.is_numeric(function.returns)
    if not numbers and not _fits(own, function.returns):
        raise TypeMismatchError(
            f"function {function.name} returns {typing.name(function.returns)}, and its text gives "
            f"{typing.name(own)}",
            hint="CAST it, or write another type behind RETURNS.",
        )
    if typing.is_same(own, function.returns):
        return bound
    if typing.is_open(own):
        return typing.coerced(bound, function.returns)
    return cast(bound, function.returns)


def _fields(function: SqlFunction) -> list[Field]:
    """Of the parameters, with ids that no plan has."""
    named = enumerate(function.parameters, 1)
    return [Field(f"${number}", name, kind) for number, (name, kind) in named]


def _fits(own: SQLType, kind: SQLType) -> bool:
    """Whether a value of one type is taken for another."""
    if typing.is_open(own) or typing.is_same(own, kind):
        return True
    both = typing.common([own, kind])
    return both is not None and (
        typing.is_same(both, kind) or (types.is_decimal(both) and types.is_decimal(kind))
    )


@lru_cache(maxsize=256)
def _expression(code: str) -> Expression:
    """The expression that the text selects."""
    statement = parse_one("".join(_with_names(code)))
    query = statement.query if isinstance(statement, nodes.SelectQuery) else None
    if query is None or query != nodes.Query(query.items, nodes.ValueRows(((),))):
        raise UnsupportedError("A function of SQL is one SELECT without clauses.", hint=_FORM)
    if len(query.items) != 1 or not isinstance(query.items[0], nodes.SelectExpression):
        raise UnsupportedError("A function of SQL selects one expression.", hint=_FORM)
    return query.items[0].expression


def _with_names(code: str) -> Iterator[str]:
    """The text with `$1` as a quoted name."""
    sign = ""
    for _, written, _ in lexemes(code):
        if sign and _NUMBER.fullmatch(written):
            yield quote(f"${written}")
            sign = ""
            continue
        yield sign
        sign = written if written == "$" else ""
        yield "" if sign else written
    yield sign


def no_query(query: nodes.Query, scope: Scope) -> Bound:
    """Binds the queries of a function's text."""
    raise UnsupportedError("A function of SQL with a subquery is not supported.", hint=_FORM)


def _called(function: SqlFunction) -> set[str]:
    """The names of the functions that the text calls, also through others."""
    found: set[str] = set()
    waiting = [function]
    while waiting:
        for call in _expression(waiting.pop().code).find_all(exp.Anonymous):
            name = call.name.upper()
            other = find_user_function(name)
            if name not in found and isinstance(other, SqlFunction):
                waiting.append(other)
            found.add(name)
    return found
