"""Overload resolution, and its errors. ksqlDB's rule: overloads with exactly matching types,
otherwise those that match after implicit widening; of several, those without variadic parameters
and with fewer type variables; a tie is ambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql import types
from streamsql.errors import Span, TypeMismatchError
from streamsql.functions.base import Function, Overload
from streamsql.functions.signature import ArgumentType, Bindings, LambdaType


@dataclass(frozen=True)
class Resolution:
    """The overload of a call, and the bindings of its type variables so far."""

    index: int
    overload: Overload
    bindings: Bindings


def resolve(
    function: Function, arguments: Sequence[ArgumentType], span: Span | None = None
) -> Resolution:
    """The overload for arguments of these types; TypeMismatchError for none or several."""
    for implicit in (False, True):
        fitting = [
            Resolution(index, candidate, bindings)
            for index, candidate in enumerate(function.overloads)
            if (bindings := candidate.signature.bind(arguments, implicit=implicit)) is not None
        ]
        if fitting:
            return _preferred(function, fitting, arguments, span)
    raise _no_match(function, arguments, span)


def _preferred(
    function: Function,
    fitting: list[Resolution],
    arguments: Sequence[ArgumentType],
    span: Span | None,
) -> Resolution:
    def rank(found: Resolution) -> tuple[bool, int]:
        return found.overload.signature.is_variadic, found.overload.signature.generics

    best = min(map(rank, fitting))
    winners = [found for found in fitting if rank(found) == best]
    if len(winners) > 1:
        raise TypeMismatchError(
            f"Function '{function.display_name}' cannot be resolved due to ambiguous method "
            f"parameters {argument_types(arguments)}.",
            hint="Cast the arguments to one type, for example CAST(x AS DOUBLE).",
            span=span,
        )
    return winners[0]


def _no_match(
    function: Function, arguments: Sequence[ArgumentType], span: Span | None
) -> TypeMismatchError:
    alternatives = "\n".join(f"{function.display_name}{s}" for s in function.signatures)
    return TypeMismatchError(
        f"Function '{function.display_name}' does not accept parameters "
        f"{argument_types(arguments)}.\nValid alternatives are:\n{alternatives}",
        hint=f"For detailed information on a function run: DESCRIBE FUNCTION {function.name};",
        span=span,
    )


def argument_types(arguments: Sequence[ArgumentType]) -> str:
    """`(STRING, INTEGER)`, as messages show them."""
    return f"({', '.join(map(_text, arguments))})"


def _text(argument: ArgumentType) -> str:
    if isinstance(argument, LambdaType):
        return str(argument)
    return "null" if types.is_null(argument) else types.to_sql(argument).replace("`", "")
