"""How a function is declared: its names, signatures, one-line documentation, examples and meaning.

A meaning (`impl`) gets `pyspark.sql.functions` passed in as `F`, so that no declaration imports
Spark; the planner reads signatures only. What a declaration leaves out: that an argument which is
null gives a null result, which is Spark's rule too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from streamsql.functions.signature import Signature, parse_signature
from streamsql.types import SQLType

UNLIMITED = 2**31 - 1
"""As many elements as an array can have."""

SparkColumn = Any
"""A pyspark Column."""
SparkFunctions = Any
"""The module pyspark.sql.functions."""

Impl = Callable[..., SparkColumn]
"""`impl(F, *arguments)`; of an overload `with_call`, `impl(F, call, *arguments)`. A lambda
argument is a Python callable on Columns."""

ReturnRule = Callable[[tuple[SQLType, ...]], SQLType]
"""The result's type from the arguments', where the signature's text can't say it."""


@dataclass(frozen=True)
class Call:
    """Properties of one call for its implementation."""

    arguments: tuple[SQLType, ...]
    result: SQLType
    constants: tuple[object, ...]
    """Python values of arguments that are constants, None for others."""
    spark_type: Callable[[SQLType], Any]
    fail: Callable[[str, SQLType], SparkColumn]
    """`fail(message, type)`: a null of that type; evaluating it makes the expression fail."""
    to_text: Callable[[SparkColumn, SQLType], SparkColumn]
    """`to_text(value, type)`: the value as CAST .. AS STRING writes it."""
    java: Callable[..., SparkColumn]
    """`java("Class.method", type, *arguments)`: a static method of streamsql's JVM part, for what
    Spark has no expression for. A null argument gives null."""
    python: Callable[..., SparkColumn]
    """`python(name, parameters, code, *arguments, grouped)`: a user's function of Python text; over
    a list of structs of the parameters if `grouped`."""


@dataclass(frozen=True)
class AggregateCall(Call):
    """The same for an aggregate; `order` is a column that sorts rows by arrival."""

    order: SparkColumn
    bounded: Callable[[str, SparkColumn, int, bool], SparkColumn]
    """`bounded(kind, value, limit, ignore_nulls)`: an array of at most `limit` values of the group,
    by an aggregate of streamsql's JVM part (BoundedAggregate.Kind says what the kinds are)."""
    count_distinct: Callable[[SparkColumn], SparkColumn]
    """How many different values there are but for null, exactly: a BIGINT."""
    sign: SparkColumn | None = None
    """Of a table's rows an INT Column, 1 for one that comes and -1 for one that is taken back."""
    limit: int = UNLIMITED
    """The most elements that an array of all values may have; later ones are left out."""


Safe = Callable[[Call], bool]
"""Whether a call of a fallible function cannot fail."""


Check = Callable[[Sequence[object]], str | None]
"""Validates the constant arguments (None for the others); returns the error that follows the
function's name, or None."""


def always(call: Call) -> bool:
    """The `safe` of an overload that never fails."""
    del call
    return True


@dataclass(frozen=True)
class Overload:
    """A signature and its implementation."""

    signature: Signature
    impl: Impl
    returns: ReturnRule | None = None
    with_call: bool = False
    safe: Safe | None = None
    check: Check | None = None


def overload(
    text: str,
    impl: Impl,
    *,
    returns: ReturnRule | None = None,
    with_call: bool = False,
    safe: Safe | None = None,
    check: Check | None = None,
) -> Overload:
    """An overload from its signature's text (see signature.py)."""
    return Overload(parse_signature(text), impl, returns, with_call, safe, check)


def each(
    text: str,
    names: str,
    impl: Impl,
    *,
    returns: ReturnRule | None = None,
    with_call: bool = False,
    safe: Safe | None = None,
) -> tuple[Overload, ...]:
    """An overload per type in `names`, which takes the place of `{}` in the text."""
    return tuple(
        overload(text.replace("{}", name), impl, returns=returns, with_call=with_call, safe=safe)
        for name in names.split()
    )


Examples = tuple[tuple[str, str], ...]
"""SQL expressions and their results as text, of an aggregate `CALL of values of x`; a test
evaluates each one."""


@dataclass(frozen=True)
class Function:
    """The base of all; `name` is in upper case."""

    name: str
    doc: str
    category: str
    overloads: tuple[Overload, ...]
    examples: Examples = ()

    type: ClassVar[str] = ""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        return tuple(o.signature for o in self.overloads)

    @property
    def display_name(self) -> str:
        """The name as error messages show it."""
        return self.name.lower()


@dataclass(frozen=True)
class ScalarFunction(Function):
    """A value from values of one row."""

    fallible: str | None = None
    """Says what went wrong when no argument is null and yet the result is; None: a plain null."""
    deterministic: bool = True

    type: ClassVar[str] = "SCALAR"


@dataclass(frozen=True)
class AggregateFunction(Function):
    """A value from the rows of a group; `impl(F, call: AggregateCall, *arguments)`."""

    undo: bool = False
    """Whether a row can be taken out again, that is, whether tables can be aggregated."""
    real_time: bool = True
    """Whether Spark runs it in real-time mode."""
    filters: bool = False
    """Whether an optional last BOOLEAN argument filters the rows: the aggregate includes NULLs, so
    FILTER cannot replace values by NULL."""

    type: ClassVar[str] = "AGGREGATE"

    @property
    def display_name(self) -> str:
        return self.name


@dataclass(frozen=True)
class TableFunction(Function):
    """Rows from one row: `impl(F, *arguments)` gives an array whose elements are the rows."""

    type: ClassVar[str] = "TABLE"


def scalar(
    name: str,
    doc: str,
    category: str,
    *overloads: Overload | Iterable[Overload],
    example: tuple[str, str] | Examples = (),
    fallible: str | None = None,
    deterministic: bool = True,
) -> ScalarFunction:
    return ScalarFunction(
        name, doc, category, _flat(overloads), _examples(example), fallible, deterministic
    )


def aggregate(
    name: str,
    doc: str,
    *overloads: Overload | Iterable[Overload],
    example: tuple[str, str] | Examples = (),
    undo: bool = False,
    real_time: bool = True,
    filters: bool = False,
) -> AggregateFunction:
    """Declares an aggregate function; every overload's impl gets the call."""
    return AggregateFunction(
        name, doc, "aggregate", _flat(overloads), _examples(example), undo, real_time, filters
    )


def table(
    name: str,
    doc: str,
    *overloads: Overload | Iterable[Overload],
    example: tuple[str, str] | Examples = (),
) -> TableFunction:
    return TableFunction(name, doc, "table", _flat(overloads), _examples(example))


def _flat(overloads: tuple[Overload | Iterable[Overload], ...]) -> tuple[Overload, ...]:
    flat: list[Overload] = []
    for item in overloads:
        flat.extend([item] if isinstance(item, Overload) else item)
    return tuple(flat)


def _examples(example: Any) -> Examples:
    if example and isinstance(example[0], str):
        return (example,)
    return tuple(example)
