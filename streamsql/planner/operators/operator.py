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
"""By sources, the columns of a row that are made of the keys of their records."""


@dataclass(frozen=True)
class StateStore:
    """One store of one operator, in words."""

    holds: str
    """What an entry is."""
    key: str
    """Key of an entry; empty: a single entry."""
    growth: str
    """What makes it grow, or when entries go."""

    @property
    def text(self) -> str:
        by = f", by {self.key}" if self.key else ""
        return f"{self.holds}{by}: {self.growth}"


class Deletions(Enum):
    """See `Operator.deletions`."""

    IGNORED = auto()
    """It keeps the rows of its input, and finds none."""
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
        """Where its rows and their columns come from."""

    @abstractmethod
    def stores(self, root: Operator) -> Iterable[StateStore]:
        """Its own state; `root` is the whole plan's."""

    @abstractmethod
    def identity(self, root: Operator) -> Iterable[str]:
        """Lines that its state and its offsets depend on. They are part of the fingerprint, which
        checkpoints hold: a text that changes makes queries begin again."""

    @property
    @abstractmethod
    def deletions(self) -> Deletions:
        """What it does with the deletion of a row that never was in its input."""

    @property
    @abstractmethod
    def knows_cause(self) -> bool:
        """Whether all state of the plan below is that of a join of a stream, as it was read, with a
        table: then the stream's record and the task identify a row."""

    @property
    @abstractmethod
    def obstacles(self) -> Iterable[str]:
        """Why Spark's Real-Time Mode does not run it."""

    @property
    @abstractmethod
    def time_decides(self) -> bool:
        """Whether time alone may give rows in real time, without a record of their key."""

    @abstractmethod
    def parts(self, at: Reading) -> Iterator[Part]:
        """What it and the operators below say of the query, for the class of a change."""

    @abstractmethod
    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        """The sources whose records it takes by key: where those of a key are in one partition, in
        their order, matters. `keys` are those of its input's rows."""

    def keys_made(self, keys: Keys) -> Keys:
        return keys

    @property
    @abstractmethod
    def needs_batch(self) -> str | None:
        """Why Spark's batch engine, and no store of a table, answers a pull query with it."""

    @property
    @abstractmethod
    def differs_in_batch(self) -> str | None:
        """Why a batch over the same records gives other rows."""

    def shuffled_inputs(self, root: Operator) -> list[bool]:
        """Of each input, whether its rows come out of a shuffle: to all state rows are shuffled by
        key."""
        return [bool(state_stores(source, root)) for source in self.inputs]

    @property
    def sources(self) -> str:
        return " joined with ".join(source.sources for source in self.inputs)

    @property
    def key_names(self) -> str:
        return ", ".join(column.name for column in self.schema.key)


@dataclass(frozen=True)
class RowByRow(Operator):
    """An operator that handles each row of its input for itself, at once, and keeps nothing."""

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
    """An operator of queries that end: it keeps no state between batches."""

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
    """The sources of whose keys the expressions are made."""
    read = {column.name for expression in expressions for column in columns_in(expression)}
    return (source for source, columns in keys.items() if columns & read)
