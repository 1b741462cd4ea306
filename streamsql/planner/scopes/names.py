"""Generates names for unnamed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from streamsql.nodes import Expression

GENERATED_PREFIX = "KSQL_COL_"
HIDDEN_PREFIX = "$"
"""The prefix of internal columns."""
AGGREGATE_PREFIX = "KSQL_AGG_VARIABLE_"


class NameGenerator:
    """Generates unused names in order. `column_name` is the result name of a copied column."""

    def __init__(
        self,
        taken: Iterable[str] = (),
        column_name: Callable[[exp.Column], str] = lambda column: column.name,
    ) -> None:
        self._taken = set(taken)
        self._next = 0
        self._column_name = column_name

    def name_for(self, expression: Expression) -> str:
        """A column's own name, a struct field's name (`_1`, .. when taken), else KSQL_COL_<n>."""
        if isinstance(expression, exp.Column) and not expression.name.startswith(HIDDEN_PREFIX):
            return self._column_name(expression)
        if isinstance(expression, exp.Dot):
            return self._unique(expression.expression.name)
        return self._numbered(GENERATED_PREFIX)

    def generated(self) -> str:
        return self._numbered(GENERATED_PREFIX)

    def aggregate(self) -> str:
        return self._numbered(AGGREGATE_PREFIX)

    def _numbered(self, prefix: str) -> str:
        while (name := f"{prefix}{self._next}") in self._taken:
            self._next += 1
        self._next += 1
        self._taken.add(name)
        return name

    def _unique(self, base: str) -> str:
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name
