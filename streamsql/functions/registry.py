"""Finding functions by name: the built-in ones, and those of users that are in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsql.errors import BindError, Span, did_you_mean
from streamsql.functions.base import AggregateFunction, Function, TableFunction
from streamsql.functions.elsewhere import HINTS
from streamsql.functions.user import find_user_function, user_function_names


class Registry:
    """All functions by name, in any case; iterating gives them sorted by name."""

    def __init__(self, functions: Iterable[Function]) -> None:
        self._functions = {f.name: f for f in sorted(functions, key=lambda f: f.name)}

    def __iter__(self) -> Iterator[Function]:
        return iter(self._functions.values())

    def __len__(self) -> int:
        return len(self._functions)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all built-in functions, in upper case."""
        return tuple(self._functions)

    def find(self, name: str) -> Function | None:
        """A built-in or user function by name, ignoring case; None if unknown."""
        return self._functions.get(name.upper()) or find_user_function(name.upper())

    def get(self, name: str, span: Span | None = None) -> Function:
        """The function of that name; BindError if unknown."""
        found = self.find(name)
        if found is None:
            raise BindError(
                f"Can't find any functions with the name '{name}'",
                hint=HINTS.get(name.upper())
                or did_you_mean(name, (*self._functions, *user_function_names())),
                span=span,
            )
        return found

    def is_aggregate(self, name: str) -> bool:
        return isinstance(self.find(name), AggregateFunction)

    def is_table_function(self, name: str) -> bool:
        return isinstance(self.find(name), TableFunction)
