"""The look-up join: a stream's rows, each with the row that a look-up table has for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsql.catalog import Source
from streamsql.nodes import Expression, JoinType
from streamsql.planner.plans.logical import LogicalPlan
from streamsql.schema import ROWTIME, Column, Namespace, Schema


@dataclass(frozen=True)
class LookupJoin(LogicalPlan):
    """Each row with the one whose key equals `keys`, an expression over the input for each key
    column of `lookup`, as that is when the row is processed. Rows keep their key, time and order.

    An INNER join leaves out rows for which there is none. A row that does not meet the `condition`,
    over all columns, of a LEFT one is as one for which there is none.
    """

    input: LogicalPlan
    lookup: Source
    alias: str
    type: JoinType
    keys: tuple[Expression, ...]
    condition: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        """The input's columns and those that are looked up, under `ALIAS.COLUMN`."""
        before = [column for column in self.input.schema if column != ROWTIME]
        return Schema((*before, *self.added, ROWTIME))

    @property
    def added(self) -> tuple[Column, ...]:
        """The columns that are looked up, in the order of the table's."""
        columns = self.lookup.schema
        return tuple(Column(f"{self.alias}.{c.name}", c.type, Namespace.VALUE) for c in columns)
