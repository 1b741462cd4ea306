"""TopN: the first rows of each group."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from streamsql.planner.operators.operator import Named, Operator, Ordering, columns_of
from streamsql.schema import Column, Kind, Namespace, Schema
from streamsql.types import BIGINT


class Ranks(Enum):
    """How the rows of a group are counted that are equal in their order."""

    ROW_NUMBER = "ROW_NUMBER"
    """Each by itself."""
    RANK = "RANK"
    """They are equal, and the next one is counted as if they were not."""
    DENSE_RANK = "DENSE_RANK"
    """They are equal, and the next one is counted as the next."""


@dataclass(frozen=True)
class TopN(Operator):
    """The rows of each group that rank up to `count`, keyed by the group and their row `number`;
    rows of a stream that are equal in the order have numbers as they came. The column `rank` holds
    what counts, unless that is the number."""

    input: Operator
    keys: tuple[Named, ...]
    order: tuple[Ordering, ...]
    count: int
    number: str
    ranks: Ranks = Ranks.ROW_NUMBER
    rank: str = ""

    @cached_property
    def schema(self) -> Schema:
        """The key, the rank, then the input's columns as value columns."""
        values = (Column(c.name, c.type, Namespace.VALUE) for c in self.input.schema)
        number = Column(self.number, BIGINT, Namespace.KEY)
        rank = (Column(self.rank, BIGINT, Namespace.VALUE),) if self.rank else ()
        return Schema((*columns_of(self.keys, Namespace.KEY), number, *rank, *values))

    @property
    def kind(self) -> Kind:
        return Kind.TABLE
