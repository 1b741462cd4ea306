"""TopN: the first rows of each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from streamsql.nodes import Expression
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.items import Named, Ordering, columns_of, named_text, order_text
from streamsql.planner.operators.lineage import NOTHING, Lineage
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore, reading
from streamsql.planner.operators.parts import Part, Reading, types_of
from streamsql.planner.scopes.text import expression_text
from streamsql.schema import Column, Kind, Namespace, Schema
from streamsql.types import BIGINT, quote


class Ranks(Enum):
    """How rows are ranked that are equal in their order."""

    ROW_NUMBER = "ROW_NUMBER"
    """Each has its own number."""
    RANK = "RANK"
    """They are equal, and the following number skips them."""
    DENSE_RANK = "DENSE_RANK"
    """They are equal, and the following number is the next one."""


@dataclass(frozen=True)
class TopN(Operator):
    """The rows of each group that rank up to `count`, keyed by the group and their row `number`;
    equal rows of a stream are numbered in order of arrival. The column `rank` holds the rank,
    unless that is the number."""

    input: Operator
    keys: tuple[Named, ...]
    order: tuple[Ordering, ...]
    count: int
    number: str
    ranks: Ranks = Ranks.ROW_NUMBER
    rank: str = ""

    kind = Kind.TABLE
    obstacles = ()
    deletions = Deletions.IGNORED
    time_decides = False
    knows_cause = False
    needs_batch = None
    differs_in_batch = None

    @cached_property
    def schema(self) -> Schema:
        """The key, the rank, then the input's columns as value columns."""
        values = (Column(c.name, c.type, Namespace.VALUE) for c in self.input.schema)
        number = Column(self.number, BIGINT, Namespace.KEY)
        rank = (Column(self.rank, BIGINT, Namespace.VALUE),) if self.rank else ()
        return Schema((*columns_of(self.keys, Namespace.KEY), number, *rank, *values))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        keys = (key.expression for key in self.keys)
        return (*keys, *(order.expression for order in self.order))

    @property
    def line(self) -> str:
        keys = f" of each {named_text(self.keys)}" if self.keys else ""
        if self.rank:
            counted = f"{self.ranks.value} {quote(self.rank)}, number {quote(self.number)}"
        else:
            counted = f"rank {quote(self.number)}"
        return f"TopN {self.count}{keys} by {order_text(self.order)}: {counted}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        # Numbers and ranks depend on the order, which also decides about rows.
        numbers = {name: NOTHING for name in (self.number, self.rank) if name}
        order = found.influences_of(Transformation.SORT, (each.expression for each in self.order))
        top = found.adding({**found.made(self.keys), **numbers})
        return top.influenced(found.grouped(self.keys), order)

    def stores(self, root: Operator) -> Iterable[StateStore]:
        groups = self._groups
        if self.input.kind is Kind.TABLE:
            table = self.input.sources
            growth = f"grows with the keys of {table}"
            yield StateStore(f"rows of {table}", self.input.key_names, growth)
            yield StateStore(f"rows of {table} in their order", groups, growth)
            return
        growth = "grows with the number of distinct groups" if groups else "does not grow"
        ties = f", with those that are equal to the last of them by {self.ranks.value}"
        holds = f"the first {self.count} rows{ties if self.rank else ''}"
        yield StateStore(holds, groups, growth)

    def identity(self, root: Operator) -> Iterable[str]:
        order = ", ".join(f"{expression_text(o.expression)} {o.descending}" for o in self.order)
        ranks = f" by {self.ranks.value}" if self.rank else ""
        yield f"the first {self.count} of {self._groups} by {order}{ranks}"

    @property
    def _groups(self) -> str:
        return ", ".join(expression_text(key.expression) for key in self.keys)

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at.behind())
        order = ", ".join(
            f"{at.text(o.expression)}{' DESC' if o.descending else ''}" for o in self.order
        )
        text = f"PARTITION BY {at.texts(self.keys)} ORDER BY {order}"
        kept, clause = at.columns(self.input.schema), self.ranks.value
        yield at.part(clause, "", text, types_of(self.expressions), columns=kept)
        yield at.part(clause, "count", str(self.count))
        at.adds(at.stand_for(self.keys))

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return reading(keys, (key.expression for key in self.keys))
