"""Items of the parser's stack: a built value with its span; and the wrapper that passes such values
to a builder method. A builder is called with the rule's span and the values of its children,
without keywords and punctuation unless the method is marked `with_tokens`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lark import Token

from streamsql.errors import ParseError, Span

MAX_NESTING = 200
"""How deep an expression may be nested: what walks a tree after us does so recursively."""

_VALUES = frozenset(
    {"IDENTIFIER", "TEXT_LITERAL", "INTEGER_LITERAL", "DECIMAL_LITERAL", "DOUBLE_LITERAL"}
)

F = TypeVar("F", bound=Callable[..., Any])


class Item:
    """A value on the stack. `start` None: the rule matched no text."""

    __slots__ = ("value", "start", "end", "line", "column", "depth")

    def __init__(
        self, value: Any, start: int | None, end: int, line: int, column: int, depth: int
    ) -> None:
        self.value = value
        self.start = start
        self.end = end
        self.line = line
        self.column = column
        self.depth = depth


def with_tokens(method: F) -> F:
    """Marks a builder that wants its keywords too, as tokens."""
    method.with_tokens = True  # type: ignore[attr-defined]
    return method


def wrap(method: Callable[..., Any]) -> Callable[[list[Any]], Item]:
    """The callback for Lark that unpacks the children, calls `method` and packs its result."""
    all_tokens = getattr(method, "with_tokens", False)

    def build(children: list[Any]) -> Item:
        start: int | None = None
        end = line = column = depth = 0
        values: list[Any] = []
        for child in children:
            if type(child) is Item:
                values.append(child.value)
                depth = max(depth, child.depth)
                if child.start is None:
                    continue
                child_start, child_end = child.start, child.end
            elif child is None:
                values.append(None)
                continue
            else:
                if child.type in _VALUES:
                    values.append(child if all_tokens else child.value)
                elif all_tokens:
                    values.append(child)
                child_start, child_end = child.start_pos, child.end_pos
            if start is None:
                start, line, column = child_start, child.line, child.column
            end = child_end
        span = Span(start or 0, end, line, column)
        if depth >= MAX_NESTING:
            raise ParseError(
                f"the expression is nested more than {MAX_NESTING} levels deep", span=span
            )
        return Item(method(span, *values), start, end, line, column, depth + 1)

    return build


class Builders:
    """Lark's view of a builder object: looks the rule's method up and wraps it."""

    def __init__(self, *builders: object) -> None:
        self._builders = builders

    def __getattr__(self, rule: str) -> Callable[[list[Any]], Item]:
        method = None if rule.startswith("_") else self.method_of(rule)
        if method is None:
            raise AttributeError(rule)
        return wrap(method)

    def method_of(self, rule: str) -> Callable[..., Any] | None:
        """The rule's original method, or None."""
        name = rule.rpartition("expressions__")[2]
        found = (getattr(builder, name, None) for builder in self._builders)
        return next((method for method in found if method is not None), None)


def as_written(token: Token) -> str:
    """A name in the case in which it was written."""
    text = str(token)
    return str(token.value) if text[:1] in ("`", '"', "'") else text
