"""Functions that users write in Python, and how they are found beside the built-in ones.

The text of a function is an expression over its parameters (`a + b`), a definition (`def f(a, b):
..`), or `module:function`. It runs in Spark's Python workers, over Arrow batches; nothing of it
runs in the engine. Of an aggregate each parameter is the list of its values in the group.
"""

from __future__ import annotations

import ast
import keyword
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from streamsql.errors import PlanError
from streamsql.functions.base import (
    AggregateFunction,
    Call,
    Function,
    Overload,
    ScalarFunction,
    SparkColumn,
    SparkFunctions,
)
from streamsql.functions.signature import Parameter, Signature, exactly
from streamsql.types import NULL, SQLType, array, struct

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class UserFunction(ScalarFunction):
    """A function made by CREATE FUNCTION; `statement` is the canonical SQL that made it."""

    statement: str = ""

    def __deepcopy__(self, memo: object) -> UserFunction:
        """Calls carry their function, and are copied as expressions are rewritten."""
        return self


@dataclass(frozen=True)
class SqlFunction(UserFunction):
    """A function made by CREATE FUNCTION .. LANGUAGE SQL: a call in standard SQL is the expression
    that `code` selects."""

    parameters: tuple[tuple[str, SQLType], ...] = ()
    returns: SQLType = NULL
    code: str = ""


@dataclass(frozen=True)
class UserAggregate(AggregateFunction):
    """A function made by CREATE AGGREGATE FUNCTION. Spark's own state collects the values of a
    group, as COLLECT_LIST does, and `finish` makes the result of the list: there is no other way
    to run Python over the groups of a stream whose results change."""

    statement: str = ""
    finish: UserFunction | None = None

    def __deepcopy__(self, memo: object) -> UserAggregate:
        """As that of a UserFunction."""
        return self


_known: ContextVar[dict[str, Function]] = ContextVar("user functions")


@contextmanager
def using(functions: Iterable[Function]) -> Iterator[None]:
    """While it lasts, names mean these functions, too."""
    token = _known.set({function.name: function for function in functions})
    try:
        yield
    finally:
        _known.reset(token)


def find_user_function(name: str) -> Function | None:
    """The function of that name, in upper case, among those in use."""
    return _known.get({}).get(name)


def user_function_names() -> tuple[str, ...]:
    return tuple(_known.get({}))


def python_function(
    name: str,
    parameters: list[tuple[str, SQLType]],
    returns: SQLType,
    code: str,
    statement: str,
) -> UserFunction:
    """A function of Python text; PlanError where the text cannot be one."""
    check_code(code, [parameter for parameter, _ in parameters])
    impl = _Python(name, _names(parameters), code)
    return UserFunction(
        name,
        "A function written in Python.",
        "user",
        (Overload(_signature(parameters, returns), impl, with_call=True),),
        deterministic=False,
        statement=statement,
    )


def sql_function(
    name: str,
    parameters: list[tuple[str, SQLType]],
    returns: SQLType,
    code: str,
    statement: str,
) -> SqlFunction:
    """A function of SQL, whose text is not read here."""
    named = [(parameter or f"${n}", kind) for n, (parameter, kind) in enumerate(parameters, 1)]
    return SqlFunction(
        name,
        "A function written in SQL.",
        "user",
        (Overload(_signature(named, returns), _no_meaning),),
        statement=statement,
        parameters=tuple(named),
        returns=returns,
        code=code,
    )


def python_aggregate(
    name: str,
    parameters: list[tuple[str, SQLType]],
    returns: SQLType,
    code: str,
    statement: str,
) -> UserAggregate:
    """An aggregate function of Python text; PlanError where the text cannot be one."""
    if not parameters:
        raise PlanError(f"the aggregate function {name} has no parameters")
    check_code(code, [parameter for parameter, _ in parameters])
    values = [("rows", array(struct(parameters)))]
    overload = Overload(
        _signature(values, returns),
        _Python(name, _names(parameters), code, grouped=True),
        with_call=True,
    )
    doc = "An aggregate function written in Python."
    finish = UserFunction(name, doc, "user", (overload,), deterministic=False)
    own = Overload(_signature(parameters, returns), _no_meaning)
    return UserAggregate(name, doc, "user", (own,), statement=statement, finish=finish)


def _no_meaning(*arguments: object) -> SparkColumn:
    raise AssertionError("the planner replaces calls of the function")


def _names(parameters: list[tuple[str, SQLType]]) -> tuple[str, ...]:
    return tuple(_python_name(parameter) for parameter, _ in parameters)


def _signature(parameters: list[tuple[str, SQLType]], returns: SQLType) -> Signature:
    given = tuple(Parameter(parameter.lower(), exactly(kind)) for parameter, kind in parameters)
    return Signature(given, exactly(returns))


def _python_name(parameter: str) -> str:
    return parameter.lower()


@dataclass(frozen=True)
class _Python:
    """Implementation of a call: the Python function over batches of Arrow arrays; `grouped`: over
    the lists of an array, one per group."""

    name: str
    parameters: tuple[str, ...]
    code: str
    grouped: bool = False

    def __call__(self, F: SparkFunctions, call: Call, *arguments: SparkColumn) -> SparkColumn:
        del F
        return call.python(self.name, self.parameters, self.code, *arguments, grouped=self.grouped)


# -- what the text may be ------------------------------------------------------------------------


_PARSING = threading.Lock()
"""Until Python 3.11.8 and 3.12.2, two threads that parse at once may raise SystemError
(python/cpython#106905)."""


def check_code(code: str, parameters: list[str]) -> None:
    """Raises PlanError if the text has none of the three forms; does not execute it."""
    if _REFERENCE.fullmatch(code.strip()):
        return
    for parameter in parameters:
        if not _NAME.fullmatch(parameter) or keyword.iskeyword(parameter.lower()):
            raise PlanError(
                f"parameter {parameter} is not a name in Python",
                hint="Use letters, digits and underscores, and no keyword of Python.",
            )
    try:
        with _PARSING:
            tree = ast.parse(code.strip())
    except SyntaxError as error:
        raise PlanError(
            f"the text of the function is not Python: {error.msg}",
            detail=f"Line {error.lineno} of the text.",
            hint="Write an expression over the parameters, def name(..): .., or 'module:function'.",
        ) from None
    definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    lone_expression = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
    if not definitions and not lone_expression:
        raise PlanError(
            "the text of the function defines no function",
            hint="Write an expression over the parameters, def name(..): .., or 'module:function'.",
        )
    if definitions:
        _check_parameters(definitions[-1], len(parameters))


def _check_parameters(definition: ast.FunctionDef, count: int) -> None:
    arguments = definition.args
    positional = [*arguments.posonlyargs, *arguments.args]
    least = len(positional) - len(arguments.defaults)
    if count < least or (count > len(positional) and arguments.vararg is None):
        raise PlanError(
            f"{definition.name}() of the text takes {len(positional)} parameters, "
            f"the function {count}",
        )
