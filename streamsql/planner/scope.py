"""Which columns a name can mean in a query, and what to say when it means none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from streamsql.errors import BindError, did_you_mean
from streamsql.planner.spans import span_of
from streamsql.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Column, Schema
from streamsql.types import SQLType, quote

_BOUND_NAMES = frozenset(column.name for column in WINDOW_BOUNDS)


@dataclass(frozen=True)
class Scope:
    """The columns of one source under its alias, system columns included.

    `windowed_query` tells that the query has a WINDOW clause, whose bounds exist only after the
    aggregation; `types` are the custom types that CAST may name.
    """

    alias: str
    schema: Schema
    windowed_query: bool = False
    types: Mapping[str, SQLType] = field(default_factory=dict)

    def resolve(self, column: exp.Column, clause: str) -> Column:
        """The column meant; BindError with a suggestion where there is none."""
        qualifier, name = column.table, column.name
        if qualifier and qualifier != self.alias:
            raise BindError(
                f"'{qualifier}' is not a valid stream/table name or alias.",
                hint=did_you_mean(qualifier, (self.alias,))
                or f"The source of this query is called {self.alias}.",
                span=span_of(column),
            )
        found = self.schema.find(name)
        if found is None:
            raise self._unknown(column, clause)
        return found

    def _unknown(self, column: exp.Column, clause: str) -> BindError:
        name = column.name
        if self.windowed_query and name in _BOUND_NAMES:
            return self._misplaced_bound(column, clause)
        shown = f"{column.table}.{name}" if column.table else name
        return BindError(
            f"{clause} column '{shown}' cannot be resolved.",
            hint=self.suggestion(name),
            span=span_of(column),
        )

    def _misplaced_bound(self, column: exp.Column, clause: str) -> BindError:
        rule = (
            f"Window bounds column {column.name} can only be used in the SELECT clause of windowed "
            "aggregations and can not be passed to aggregate functions."
        )
        if clause in ("WHERE", "HAVING"):
            return BindError(
                f"Error in {clause} expression: Unknown column {column.name}.",
                detail=rule,
                span=span_of(column),
            )
        return BindError(rule, span=span_of(column))

    def suggestion(self, name: str) -> str:
        """A hint for a name that is not there: a column alike, or the list of all."""
        if name in _BOUND_NAMES:
            return "Windowed aggregations and sources with a windowed key have window bounds."
        columns = [c.name for c in self.schema]
        other_case = next((c for c in columns if c != name and c.upper() == name.upper()), None)
        if other_case is not None:
            return f"Did you mean {quote(other_case)}? Backticks keep the case of a name."
        own = ", ".join(c.name for c in self.schema if c not in PSEUDO_COLUMNS)
        return did_you_mean(name, columns) or f"{self.alias} has the columns {own}."
