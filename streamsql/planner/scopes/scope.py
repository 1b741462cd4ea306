"""The columns that a name can refer to in a query of one source, and suggestions for unknown
names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from streamsql.errors import BindError, Span, did_you_mean
from streamsql.ksqldb import says
from streamsql.planner.scopes.names import NameGenerator
from streamsql.planner.scopes.spans import span_of
from streamsql.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Column, Schema
from streamsql.types import SQLType, quote

_BOUND_NAMES = frozenset(column.name for column in WINDOW_BOUNDS)


@dataclass(frozen=True)
class Scope:
    """The columns of one source under its alias, including system columns. `windowed_query` means
    that the query has a WINDOW clause, whose bounds exist only after the aggregation; `types` are
    the custom types for CAST."""

    alias: str
    schema: Schema
    windowed_query: bool = False
    types: Mapping[str, SQLType] = field(default_factory=dict)

    def resolve(self, column: exp.Column, clause: str) -> exp.Column:
        """A typed reference to a column; BindError with a suggestion if unknown. The caller tracks
        its position."""
        if column.table:
            self.check_source(column.table, span_of(column))
        found = self.schema.find(column.name) or self.schema.find(folded(column.name))
        if found is None:
            raise self._unknown(column, clause)
        return self.reference(found)

    def reference(self, column: Column) -> exp.Column:
        return column_node(column)

    def check_source(self, name: str, span: Span | None) -> None:
        if self.alias_of(name) is None:
            message = f"'{name}' is not a valid stream/table name or alias."
            raise BindError(
                message,
                ksqldb=says("cannot-prepare", reason=message),
                hint=did_you_mean(name, self.aliases) or self._called(),
                span=span,
            )

    def alias_of(self, name: str) -> str | None:
        """The source of this name or, if there is none, of the name in upper case."""
        return next((a for a in (name, folded(name)) if a in self.aliases), None)

    @property
    def aliases(self) -> tuple[str, ...]:
        return (self.alias,)

    def names(self, taken: Collection[str] = ()) -> NameGenerator:
        """Names for result columns, distinct from those taken and from the source's columns."""
        return NameGenerator([*self.schema.names, *taken])

    def has_column(self, name: str) -> bool:
        return any(self.schema.find(n) is not None for n in (name, folded(name)))

    def _called(self) -> str:
        return f"The source of this query is called {self.alias}."

    def _unknown(self, column: exp.Column, clause: str) -> BindError:
        name = column.name
        if self.windowed_query and name in _BOUND_NAMES:
            return self._misplaced_bound(column, clause)
        shown = f"{column.table}.{name}" if column.table else name
        return BindError(
            f"{clause} column '{shown}' cannot be resolved.",
            hint=self.suggestion(column),
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

    def suggestion(self, column: exp.Column) -> str:
        """A hint for an unknown name: a similar column, or the list of all."""
        return suggestion(column.name, self.alias, self.schema)


def folded(name: str) -> str:
    """A name in lower case, which must have been quoted, as an unquoted one: tools quote each name.
    If both exist the quoted one has precedence."""
    return name.upper() if name == name.lower() else name


def suggestion(name: str, alias: str, schema: Schema) -> str:
    """A hint for the name of a column that a source lacks."""
    if name in _BOUND_NAMES:
        return "Windowed aggregations and sources with a windowed key have window bounds."
    columns = [c.name for c in schema]
    other_case = next((c for c in columns if c != name and c.upper() == name.upper()), None)
    if other_case is not None:
        return f"Did you mean {quote(other_case)}? Backticks keep the case of a name."
    own = ", ".join(c.name for c in schema if c not in PSEUDO_COLUMNS)
    if not own:
        return "Without a FROM, there are no columns."
    return did_you_mean(name, columns) or f"{alias} has the columns {own}."


def column_node(column: Column) -> exp.Column:
    node = exp.Column(this=exp.to_identifier(column.name, quoted=True))
    node.type = column.type
    return node
