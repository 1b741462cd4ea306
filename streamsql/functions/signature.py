"""What a function takes and gives: a signature written as text, matched against argument types.

text STRING, position INT, length INT -> STRING
array ARRAY<T>, value T -> BOOLEAN           one capital letter is any type, the same everywhere
values D... -> D                             D is any DECIMAL: the narrowest that holds them all
map MAP<K, V>, mapper (K, V) => U -> U       a lambda
column T, const k INT -> ARRAY<T>            `const`: a literal is required
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamsql import types
from streamsql.errors import InternalError
from streamsql.types import SQLType

ANY = "ANY"
LAMBDA = "LAMBDA"
DECIMAL = "DECIMAL"
UNIT = "INTERVALUNIT"

Bindings = dict[str, SQLType]
"""Bindings of the type variables of a signature in one call."""


@dataclass(frozen=True)
class LambdaType:
    """Placeholder for the type of a lambda argument before its body can be typed."""

    arity: int

    def __str__(self) -> str:
        return "LAMBDA"


ArgumentType = SQLType | LambdaType


@dataclass(frozen=True)
class Pattern:
    """A type with variables in it; of a LAMBDA, `inner` holds its parameters and last its body."""

    name: str
    inner: tuple[Pattern, ...] = ()
    exact: SQLType | None = None
    """The very type, with all of its fields, where it is no pattern."""

    @property
    def is_variable(self) -> bool:
        return len(self.name) == 1

    def __str__(self) -> str:
        if self.name == LAMBDA:
            *parameters, body = (str(p) for p in self.inner)
            return f"LAMBDA ({', '.join(parameters)}) => {body}"
        if self.exact is not None:
            return types.to_sql(self.exact).replace("`", "")
        name = {"INT": "INTEGER", "D": "DECIMAL"}.get(self.name, self.name)
        return f"{name}<{', '.join(map(str, self.inner))}>" if self.inner else name

    def variables(self) -> Iterator[str]:
        if self.is_variable:
            yield self.name
        for pattern in self.inner:
            yield from pattern.variables()


@dataclass(frozen=True)
class Parameter:
    """One parameter; a `constant` one takes literals only."""

    name: str
    pattern: Pattern
    variadic: bool = False
    constant: bool = False

    @property
    def type(self) -> str:
        """Text in signatures; `...` follows a variadic parameter."""
        return f"{self.pattern}..." if self.variadic else str(self.pattern)

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class Signature:
    """Parameters and result; at most one parameter is variadic, the last one."""

    parameters: tuple[Parameter, ...]
    result: Pattern

    @property
    def is_variadic(self) -> bool:
        """Whether the last parameter may be repeated."""
        return bool(self.parameters) and self.parameters[-1].variadic

    @property
    def returns(self) -> str:
        """The result type as text."""
        return str(self.result)

    @property
    def generics(self) -> int:
        """Number of type variables: of two matching signatures, the one with fewer wins. `D` is
        not a variable: it is the type DECIMAL."""
        return len({v for p in self.parameters for v in p.pattern.variables()} - {"D"})

    def parameter(self, index: int) -> Parameter:
        """The parameter that the argument at `index` belongs to."""
        return self.parameters[min(index, len(self.parameters) - 1)]

    def bind(self, arguments: Sequence[ArgumentType], *, implicit: bool) -> Bindings | None:
        """The variables' types if the arguments fit, else None; lambdas fit by their arity."""
        required = len(self.parameters) - self.is_variadic
        if len(arguments) < required or (len(arguments) > required and not self.is_variadic):
            return None
        bindings: Bindings = {}
        for index, argument in enumerate(arguments):
            if not _fits(self.parameter(index).pattern, argument, bindings, implicit):
                return None
        return bindings

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))})"


def _fits(pattern: Pattern, given: ArgumentType, bound: Bindings, implicit: bool) -> bool:
    if isinstance(given, LambdaType):
        return pattern.name == LAMBDA and len(pattern.inner) == given.arity + 1
    if pattern.name == LAMBDA:
        return False
    if pattern.name == ANY or types.is_null(given):
        return True
    if pattern.exact is not None:
        return given == pattern.exact or (implicit and types.widens_to(given, pattern.exact))
    if pattern.is_variable:
        return _bind_variable(pattern.name, given, bound, implicit)
    if pattern.name == DECIMAL:
        return types.is_decimal(given) or (implicit and given in (types.INT, types.BIGINT))
    if pattern.inner:
        same = types.is_map(given) if pattern.name == "MAP" else types.is_array(given)
        return same and all(
            _fits(p, t, bound, implicit)
            for p, t in zip(pattern.inner, _inner_types(given), strict=True)
        )
    if pattern.name == "STRUCT":
        return types.is_struct(given)
    wanted = _plain(pattern.name)
    return given == wanted or (implicit and types.widens_to(given, wanted))


def _bind_variable(name: str, given: SQLType, bound: Bindings, implicit: bool) -> bool:
    if name == "D":
        if not types.is_decimal(given):
            if not implicit or given not in (types.INT, types.BIGINT):
                return False
            given = types.decimal(*types.precision_scale(given))
        both = types.common_type(bound[name], given) if name in bound else given
    elif name in bound and not implicit:
        both = given if bound[name] == given else None
    else:
        both = types.common_type(bound[name], given) if name in bound else given
    if both is None:
        return False
    bound[name] = both
    return True


def _inner_types(t: SQLType) -> tuple[SQLType, ...]:
    if types.is_map(t):
        return types.key_type(t), types.element_type(t)
    return (types.element_type(t),)


def _plain(name: str) -> SQLType:
    return types.INTERVAL_UNIT if name == UNIT else types.PRIMITIVES[name]


def resolve_pattern(pattern: Pattern, bound: Bindings, given: SQLType | None = None) -> SQLType:
    """The type that a pattern means in a call; `given` decides where the pattern leaves it open.

    A variable that only NULLs met means STRING.
    """
    if pattern.exact is not None:
        return pattern.exact
    if pattern.name in (ANY, "STRUCT", DECIMAL) and not pattern.inner:
        if pattern.name == DECIMAL and given in (types.INT, types.BIGINT) and given is not None:
            return types.decimal(*types.precision_scale(given))
        if given is None:
            raise InternalError(f"a signature leaves {pattern} open")
        return given
    if pattern.is_variable:
        return bound.get(pattern.name, types.STRING)
    if pattern.name == "ARRAY":
        return types.array(resolve_pattern(pattern.inner[0], bound))
    if pattern.name == "MAP":
        key, value = pattern.inner
        return types.map_(resolve_pattern(key, bound), resolve_pattern(value, bound))
    return _plain(pattern.name)


def exactly(kind: SQLType) -> Pattern:
    """The pattern that only this type fits, and what widens to it."""
    return Pattern("EXACTLY", exact=kind)


# -- the text of a signature -------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(\.\.\.|=>|->|[A-Za-z_][A-Za-z0-9_]*|[<>(),])")


def parse_signature(text: str) -> Signature:
    return _SignatureParser(text).signature()


class _SignatureParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return str(self.tokens[self.at]) if self.at < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if expected is not None and token != expected:
            raise InternalError(f"signature {self.text!r}: expected {expected}, got {token!r}")
        self.at += 1
        return token

    def signature(self) -> Signature:
        parameters = []
        while self.peek() != "->":
            parameters.append(self.parameter())
            if self.peek() == ",":
                self.take()
        self.take("->")
        return Signature(tuple(parameters), self.pattern())

    def parameter(self) -> Parameter:
        constant = self.peek() == "const"
        if constant:
            self.take()
        name = self.take()
        pattern = self.lambda_() if self.peek() == "(" else self.pattern()
        variadic = self.peek() == "..."
        if variadic:
            self.take()
        return Parameter(name, pattern, variadic, constant)

    def lambda_(self) -> Pattern:
        self.take("(")
        inner = [self.pattern()]
        while self.peek() == ",":
            self.take()
            inner.append(self.pattern())
        self.take(")")
        self.take("=>")
        return Pattern(LAMBDA, (*inner, self.pattern()))

    def pattern(self) -> Pattern:
        name = self.take()
        if self.peek() != "<":
            return Pattern("INT" if name == "INTEGER" else name)
        self.take("<")
        inner = [self.pattern()]
        while self.peek() == ",":
            self.take()
            inner.append(self.pattern())
        self.take(">")
        return Pattern(name, tuple(inner))
