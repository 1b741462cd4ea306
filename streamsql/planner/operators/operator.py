"""The base of all operators: what each of them states about itself.

Expressions inside a plan are bound and typed: every column is a `Column` with no table, named as in
the input's schema, and every node has its SQL type in `node.type`. No schema has system columns:
event time, whether the value is null (a tombstone), and a record's headers where it causes one row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum, auto

from streamsql.errors import InternalError
from streamsql.nodes import Expression
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.types.binding import columns_in
from streamsql.schema import Kind, Schema

Binding = tuple[Expression, "Operator"]
Keys = Mapping[str, frozenset[str]]
"""By source, the columns of a row that are derived from its records' keys."""


@dataclass(frozen=True)
class StateStore:
    """The description of one store of an operator."""

    holds: str
    """The content of an entry."""
    key: str
    """The key of an entry; empty: one entry holds all."""
    growth: str
    """What makes it grow, or when entries expire."""

    @property
    def text(self) -> str:
        by = f", by {self.key}" if self.key else ""
        return f"{self.holds}{by}: {self.growth}"


class Deletions(Enum):
    """See `Operator.deletions`."""

    IGNORED = auto()
    """It stores the rows of its input, and finds none."""
    PASSED_ON = auto()
    WRITTEN = auto()


@dataclass(frozen=True)
class Operator(ABC):
    """A node of a plan."""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        values = (getattr(self, f.name) for f in fields(self))
        return tuple(value for value in values if isinstance(value, Operator))

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns of its rows."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """STREAM: rows are events; TABLE: rows are upserts and deletes by key."""

    @property
    @abstractmethod
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions of its own."""

    @property
    def bindings(self) -> Iterable[Binding]:
        """The expressions, each with the operator whose columns it reads."""
        return ((e, source) for source in self.inputs[:1] for e in self.expressions)

    @property
    @abstractmethod
    def line(self) -> str:
        """Its line in EXPLAIN."""

    @property
    def details(self) -> tuple[str, ...]:
        """Lines of EXPLAIN below its own."""
        return ()

    @abstractmethod
    def lineage(self) -> Lineage:
        """The lineage of its rows and columns."""

    @abstractmethod
    def stores(self, root: Operator) -> Iterable[StateStore]:
        """Its own state; `root` is the whole plan's."""

    @abstractmethod
    def identity(self, root: Operator) -> Iterable[str]:
        """Lines that its state and its offsets depend on. They are part of the fingerprint, which
        checkpoints store, so existing texts must not change."""

    @property
    @abstractmethod
    def deletions(self) -> Deletions:
        """How it handles the deletion of a row that its input never had."""

    @property
    @abstractmethod
    def knows_cause(self) -> bool:
        """Whether the only state of the plan below is that of a join of a stream with a table: then
        the stream's record and the task identify a row."""

    @property
    @abstractmethod
    def obstacles(self) -> Iterable[str]:
        """Why Spark's real-time mode does not support it."""

    @property
    @abstractmethod
    def time_decides(self) -> bool:
        """Whether time alone may cause results in real time, without a record of their key."""

    @abstractmethod
    def parts(self, at: Reading) -> Iterator[Part]:
        """The parts of the query that it and the operators below define, for the class of a
        change."""

    @abstractmethod
    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        """The sources that it reads by key: the records of a key have to be in one partition, in
        order. `keys` are those of its input's rows."""

    def keys_made(self, keys: Keys) -> Keys:
        return keys

    @property
    @abstractmethod
    def needs_batch(self) -> str | None:
        """Why Spark's batch engine, and no store, answers a pull query with it."""

    @property
    @abstractmethod
    def differs_in_batch(self) -> str | None:
        """Why a batch over the same records has other results."""

    def shuffled_inputs(self, root: Operator) -> list[bool]:
        """For each input, whether its rows are shuffled: rows are shuffled by key to all state."""
        return [bool(state_stores(source, root)) for source in self.inputs]

    @property
    def sources(self) -> str:
        return " joined with ".join(source.sources for source in self.inputs)

    @property
    def key_names(self) -> str:
        return ", ".join(column.name for column in self.schema.key)


@dataclass(frozen=True)
class RowByRow(Operator):
    """A stateless operator that handles each row of its input at once."""

    input: Operator

    @property
    def kind(self) -> Kind:
        return self.input.kind

    def stores(self, root: Operator) -> Iterable[StateStore]:
        return ()

    def identity(self, root: Operator) -> Iterable[str]:
        return ()

    @property
    def deletions(self) -> Deletions:
        return Deletions.PASSED_ON

    @property
    def knows_cause(self) -> bool:
        return self.input.knows_cause

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return ()

    @property
    def needs_batch(self) -> str | None:
        return None

    @property
    def differs_in_batch(self) -> str | None:
        return None

    @property
    def obstacles(self) -> Iterable[str]:
        return ()

    @property
    def time_decides(self) -> bool:
        return False


class Bounded(Operator):
    """An operator of bounded queries: it keeps no state between batches."""

    obstacles = ()
    time_decides = False
    deletions = Deletions.PASSED_ON
    knows_cause = False
    differs_in_batch = None

    def stores(self, root: Operator) -> Iterable[StateStore]:
        return ()

    def identity(self, root: Operator) -> Iterable[str]:
        return ()

    def parts(self, at: Reading) -> Iterator[Part]:
        raise InternalError(f"{type(self).__name__} is in a persistent query")

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return ()


def operators(root: Operator) -> Iterator[Operator]:
    """All operators, the root first."""
    yield root
    for operator in root.inputs:
        yield from operators(operator)


def state_stores(plan: Operator, root: Operator | None = None) -> tuple[StateStore, ...]:
    """The stores of all operators, those nearest to the sources first; `root` is the whole query's,
    where `plan` is a part of it."""
    return tuple(_stores(plan, root or plan))


def _stores(node: Operator, root: Operator) -> Iterator[StateStore]:
    for source in node.inputs:
        yield from _stores(source, root)
    yield from node.stores(root)


def reading(keys: Keys, expressions: Iterable[Expression]) -> Iterator[str]:
    """The sources whose keys the expressions are derived from."""
    read = {column.name for expression in expressions for column in columns_in(expression)}
    return (source for source, columns in keys.items() if columns & read)
