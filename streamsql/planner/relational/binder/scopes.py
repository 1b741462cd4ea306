"""Scopes: what the names of columns mean in a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from streamsql.errors import BindError, did_you_mean
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Field, Relation
from streamsql.planner.relational.expressions import column
from streamsql.planner.scopes.spans import span_of


@dataclass(frozen=True)
class Bound:
    """A query whose names are known: its relation, and the fields of its result in their order."""

    relation: Relation
    fields: tuple[Field, ...]
    order: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Entry:
    """An item of FROM: its alias, its columns by their names, and those that `*` leaves out."""

    alias: str | None
    columns: tuple[tuple[str, Field], ...]
    hidden: tuple[tuple[str, Field], ...] = ()
    merged: frozenset[str] = frozenset()
    """Columns that USING has made one with another side's: only found by their alias."""
    scalar: bool = False
    """Of a function whose rows are single values, which the alias means, too."""


@dataclass(frozen=True)
class Scope:
    """The items of FROM, the columns that USING has made of two, and the scope around it."""

    entries: tuple[Entry, ...] = ()
    common: tuple[tuple[str, Field], ...] = ()
    parent: Scope | None = None
    tables: Mapping[str, Bound] = field(default_factory=dict)
    """Queries of WITH by name."""

    def beside(self, other: Scope) -> Scope:
        return replace(
            self, entries=self.entries + other.entries, common=self.common + other.common
        )

    def table(self, name: str) -> Bound | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.tables:
                return scope.tables[name]
            scope = scope.parent
        return None

    def every(self) -> list[tuple[str, Field]]:
        """The columns that `*` stands for."""
        rest = [
            (name, found)
            for entry in self.entries
            for name, found in entry.columns
            if name not in entry.merged
        ]
        return [*self.common, *rest]

    def of(self, alias: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.alias == alias), None)

    def local(self, name: str) -> list[Field]:
        """The columns of the name, without those of outer scopes."""
        found = [item for key, item in self.common if key == name]
        if found:
            return found
        seen = [
            item
            for entry in self.entries
            for key, item in (*entry.columns, *entry.hidden)
            if key == name and key not in entry.merged
        ]
        plain = [
            item
            for entry in self.entries
            for key, item in entry.columns
            if key == name and key not in entry.merged
        ]
        return plain or seen[:1]

    def names(self) -> set[str]:
        """The names of all columns, for messages."""
        own = {name for entry in self.entries for name, _ in entry.columns}
        return own | (self.parent.names() if self.parent else set())


def resolve(node: exp.Column, scope: Scope) -> Expression:
    """The field that a column's name means, here or in an outer query."""
    found = _found(node, scope)
    if found is None:
        raise _unknown(node, scope)
    return column(found)


def has_column(node: exp.Column, scope: Scope) -> bool:
    return _found(node, scope) is not None


def whole_row(node: exp.Column, scope: Scope) -> Entry | None:
    """The item of FROM that the name means, where no column has it: `SELECT t FROM t`."""
    if node.table or has_column(node, scope):
        return None
    at: Scope | None = scope
    while at is not None:
        if (entry := at.of(node.name)) is not None:
            return entry
        at = at.parent
    return None


def _found(node: exp.Column, scope: Scope) -> Field | None:
    at: Scope | None = scope
    while at is not None:
        found = _in(at, node.table, node)
        if found is not None:
            return found
        at = at.parent
    return None


def _in(scope: Scope, table: str, node: exp.Column) -> Field | None:
    if table:
        entries = [entry for entry in scope.entries if entry.alias == table]
        if not entries:
            return None
        for entry in entries:
            for name, found in (*entry.columns, *entry.hidden):
                if name == node.name:
                    return found
        raise BindError(
            f"column {table}.{node.name} does not exist",
            hint=did_you_mean(node.name, (name for e in entries for name, _ in e.columns)),
            span=span_of(node),
        )
    found_here = scope.local(node.name)
    if len({item.id for item in found_here}) > 1:
        raise BindError(
            f"column reference {node.name} is ambiguous",
            hint="Write the table before it: "
            + " or ".join(f"{alias}.{node.name}" for alias in _holders(scope, node.name)),
            span=span_of(node),
        )
    return found_here[0] if found_here else None


def _holders(scope: Scope, name: str) -> Iterable[str]:
    return [
        entry.alias
        for entry in scope.entries
        if entry.alias and any(key == name for key, _ in entry.columns)
    ]


def _unknown(node: exp.Column, scope: Scope) -> BindError:
    if node.table:
        known: list[str] = []
        at: Scope | None = scope
        while at is not None:
            known += [entry.alias for entry in at.entries if entry.alias]
            at = at.parent
        return BindError(
            f"missing FROM-clause entry for table {node.table}",
            hint=did_you_mean(node.table, known),
            span=span_of(node),
        )
    return BindError(
        f"column {node.name} does not exist",
        hint=did_you_mean(node.name, scope.names()) or _columns_of(scope),
        span=span_of(node),
    )


def _columns_of(scope: Scope) -> str | None:
    """The columns of the only relation."""
    if len(scope.entries) != 1 or not scope.entries[0].alias:
        return None
    (entry,) = scope.entries
    return f"{entry.alias} has the columns {', '.join(name for name, _ in entry.columns)}."
