"""The columns that a name can refer to in a join, and their names in results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from streamsql.errors import BindError
from streamsql.ksqldb import says
from streamsql.planner.scopes.names import NameGenerator
from streamsql.planner.scopes.qualified import bare_name, mark_qualified, qualified_name, qualifier
from streamsql.planner.scopes.scope import Scope, column_node, folded, suggestion
from streamsql.planner.scopes.spans import span_of
from streamsql.schema import WINDOW_BOUNDS, Column, Schema
from streamsql.types import quote


@dataclass(frozen=True)
class JoinScope(Scope):
    """`schema` is the join's; `sources` are the joined ones by alias, with unqualified column
    names.

    `key` names the key column that was created for the join, which belongs to no source.
    """

    sources: tuple[tuple[str, Schema], ...] = ()
    key: str | None = None
    shared: Mapping[str, str] = field(default_factory=dict)
    """Columns of USING: the source that an unqualified name refers to."""

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(alias for alias, _ in self.sources)

    def resolve(self, column: exp.Column, clause: str) -> exp.Column:
        """Resolves a column and its source; BindError if none or several match. `clause` is for the
        message."""
        if column.table:
            self.check_source(column.table, span_of(column))
        bare, owners = column.name, self._of(column, column.name)
        if not owners:
            bare = folded(column.name)
            owners = self._of(column, bare)
        if len(owners) > 1:
            raise _ambiguous(column, owners)
        name = qualified_name(owners[0], bare) if owners else column.name
        found = self.schema.find(name) if owners or self._is_own(column) else None
        if found is None:
            raise self._unknown(column, clause)
        return self.reference(found)

    def _of(self, column: exp.Column, name: str) -> list[str]:
        if not column.table:
            return [self.shared[name]] if name in self.shared else self._owners(name)
        alias = self.alias_of(column.table)
        return [alias] if alias is not None and self._has(alias, name) else []

    def reference(self, column: Column) -> exp.Column:
        node = column_node(column)
        for alias, schema in self.sources:
            if any(qualified_name(alias, c.name) == column.name for c in schema):
                return mark_qualified(node, alias)
        return node

    def names(self, taken: Collection[str] = ()) -> NameGenerator:
        """A column has its unqualified name unless several sources have one of that name."""
        bare = [column.name for _, schema in self.sources for column in schema]
        return NameGenerator([*bare, *taken], self._result_name)

    def has_column(self, name: str) -> bool:
        return bool(self._owners(name) or self._owners(folded(name)))

    def suggestion(self, column: exp.Column) -> str:
        """A suggestion for an unknown column; empty without similar names."""
        if column.table:
            elsewhere = next(iter(self._owners(column.name)), None)
            if elsewhere is not None:
                return f"{column.name} is a column of {elsewhere}."
            alias = self.alias_of(column.table) or column.table
            return suggestion(column.name, alias, dict(self.sources)[alias])
        hints = [suggestion(column.name, alias, schema) for alias, schema in self.sources]
        found = next((hint for hint in hints if hint.startswith("Did you mean")), None)
        return found or " ".join(dict.fromkeys(hints))

    def _result_name(self, column: exp.Column) -> str:
        alias, name = qualifier(column), bare_name(column)
        if alias is None or len(self._owners(name)) == 1 or self.shared.get(name) == alias:
            return name
        return joined_name(alias, name)

    def _owners(self, name: str) -> list[str]:
        return [alias for alias, _ in self.sources if self._has(alias, name)]

    def _has(self, alias: str, name: str) -> bool:
        return any(a == alias and schema.find(name) is not None for a, schema in self.sources)

    def _is_own(self, column: exp.Column) -> bool:
        """Whether an unqualified name may be a column of the query itself: the key of the join, the
        bounds of its windows."""
        own = {self.key, *(bound.name for bound in WINDOW_BOUNDS)}
        return not column.table and column.name in own

    def _called(self) -> str:
        *head, last = self.aliases
        return f"The sources of this query are called {', '.join(head)} and {last}."


def joined_name(alias: str, name: str) -> str:
    """Name of a joined source's column in `*`."""
    return f"{alias}_{name}"


def _ambiguous(column: exp.Column, owners: Sequence[str]) -> BindError:
    *head, last = (f"{alias}.{column.name}" for alias in owners)
    candidates = f"{', '.join(head)} or {last}"
    return BindError(
        f"Column '{column.name}' is ambiguous. Could be {candidates}.",
        hint=f"Say which one: {quote(owners[0])}.{quote(column.name)}.",
        span=span_of(column),
        ksqldb=says("ambiguous-column", name=column.name, candidates=candidates),
    )
