"""Keys of queries without GROUP BY and PARTITION BY, and their position in SELECT. Rows of a join
are identified by the value that both sides share, which may be selected as any of its columns;
without such a column, a key column ROWKEY is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes
from typing import Protocol

from sqlglot import exp

from streamsql.errors import PlanError, Span
from streamsql.planner.operators.combined import part
from streamsql.planner.scopes.qualified import bare_name
from streamsql.planner.select_list.items import Item
from streamsql.planner.select_list.projection import Keys, Selected
from streamsql.planner.types.binding import reference
from streamsql.types import quote, type_of

SYNTHETIC = "ROWKEY"


class Identity(Protocol):
    """The key of the rows in FROM."""

    def keys(self, items: Sequence[Item]) -> Keys:
        """The expressions that a persistent result must contain, given the selected ones."""

    def check(self, selected: Selected, span: Span | None) -> None:
        """PlanError with details if the stored result lacks a key."""

    def over(self, selected: Selected) -> Selected:
        """The selected columns, the key's reading the column that is certain to hold it."""


@dataclass(frozen=True)
class SourceKey:
    """The key columns of a single source."""

    columns: tuple[exp.Column, ...]
    alias: str

    def keys(self, items: Sequence[Item]) -> Keys:
        return Keys(self.columns, "key column", self.alias)

    def check(self, selected: Selected, span: Span | None) -> None:
        """No further check: a missing key has been rejected before."""

    def over(self, selected: Selected) -> Selected:
        return selected


@dataclass(frozen=True)
class JoinKey:
    """The key column of a join, and the sources' columns that equal it, left ones first."""

    column: exp.Column
    viable: tuple[exp.Column, ...]

    @property
    def synthetic(self) -> bool:
        """Whether no selected column holds the key, so that it has a generated name."""
        return not self.viable

    def keys(self, items: Sequence[Item]) -> Keys:
        if self.synthetic:
            name = self.column.name
            note = (
                f"{name} was added as a synthetic key column because the join criteria did not "
                "match any source column."
            )
            return Keys((self.column,), "join expression", "", (self.column,), note)
        selected = [item.expression for item in items]
        chosen = next((c for c in self.viable if c in selected), self.viable[0])
        return Keys((chosen,), "join expression", "", self.viable)

    def check(self, selected: Selected, span: Span | None) -> None:
        """No further check: a missing key has been rejected before."""

    def over(self, selected: Selected) -> Selected:
        key = tuple(
            item and with_changes(item, expression=reference(self.column.name, item.expression))
            for item in selected.key
        )
        return Selected(key, selected.value)


@dataclass(frozen=True)
class JoinKeys:
    """The key of a join on several equalities: for each part the columns that hold it."""

    column: exp.Column
    viable: tuple[tuple[exp.Column, ...], ...]

    def keys(self, items: Sequence[Item]) -> Keys:
        selected = [item.expression for item in items]
        chosen = (next((c for c in part if c in selected), part[0]) for part in self.viable)
        return Keys(tuple(chosen), "join expression", "")

    def check(self, selected: Selected, span: Span | None) -> None:
        """No further check: a missing key has been rejected before."""

    def over(self, selected: Selected) -> Selected:
        key = tuple(
            item
            and with_changes(item, expression=part(self.column, number, type_of(item.expression)))
            for number, item in enumerate(selected.key)
        )
        return Selected(key, selected.value)


@dataclass(frozen=True)
class LeftKey:
    """The left table's primary key, which identifies the rows of a foreign-key join."""

    columns: tuple[exp.Column, ...]
    alias: str

    def keys(self, items: Sequence[Item]) -> Keys:
        return Keys(self.columns, "key column", "")

    def check(self, selected: Selected, span: Span | None) -> None:
        """PlanError, at the span, if a part of the key is not selected."""
        missing = [
            quote(bare_name(column))
            for column, item in zip(self.columns, selected.key, strict=True)
            if item is None
        ]
        if missing:
            raise PlanError(
                "Primary key columns missing in projection. For foreign-key table-table joins, the "
                "projection must include all primary key columns from the left input table "
                f"({quote(self.alias)}). Missing columns: {', '.join(missing)}.",
                hint=f"Add {', '.join(missing)} to the SELECT.",
                span=span,
            )

    def over(self, selected: Selected) -> Selected:
        return selected


def synthetic_name(taken: Sequence[str]) -> str:
    """ROWKEY, or the first unused name of ROWKEY_1, .."""
    if SYNTHETIC not in taken:
        return SYNTHETIC
    number = 1
    while f"{SYNTHETIC}_{number}" in taken:
        number += 1
    return f"{SYNTHETIC}_{number}"
