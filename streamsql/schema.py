"""Schema of a stream or table: columns, formats and windows, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from streamsql.types import BIGINT, INT, SQLType, quote, to_sql


class Kind(Enum):
    """A stream is its events; a table is the latest value per key."""

    STREAM = "STREAM"
    TABLE = "TABLE"


class Namespace(Enum):
    """Part of a Kafka record."""

    KEY = "KEY"
    VALUE = "VALUE"
    HEADERS = "HEADERS"


@dataclass(frozen=True)
class Column:
    """A column; `header` is the header's name of a HEADER('x') column, None for all HEADERS."""

    name: str
    type: SQLType
    namespace: Namespace = Namespace.VALUE
    header: str | None = None

    def __str__(self) -> str:
        text = f"{quote(self.name)} {to_sql(self.type)}"
        match self.namespace:
            case Namespace.KEY:
                return text + " KEY"
            case Namespace.HEADERS:
                return text + (f" HEADER('{self.header}')" if self.header else " HEADERS")
        return text


@dataclass(frozen=True)
class Schema:
    """Columns in order: keys first, as in `SELECT *`. Names are unique."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        return ", ".join(str(c) for c in self.columns)

    @property
    def key(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.namespace is Namespace.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.namespace is Namespace.VALUE)

    @property
    def headers(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.namespace is Namespace.HEADERS)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    def find(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)


ROWTIME = Column("ROWTIME", BIGINT)
ROWPARTITION = Column("ROWPARTITION", INT)
ROWOFFSET = Column("ROWOFFSET", BIGINT)
WINDOWSTART = Column("WINDOWSTART", BIGINT)
WINDOWEND = Column("WINDOWEND", BIGINT)

PSEUDO_COLUMNS = (ROWTIME, ROWPARTITION, ROWOFFSET)
"""Columns of every source that `SELECT *` omits; times are ms since the epoch."""
WINDOW_BOUNDS = (WINDOWSTART, WINDOWEND)
"""Additional pseudo columns of windowed sources."""
RESERVED_COLUMNS = frozenset(c.name for c in PSEUDO_COLUMNS + WINDOW_BOUNDS)


ROW_KEY = "$row"
"""The hidden key of rows without one."""


def is_hidden(name: str) -> bool:
    """Whether a column has no name in SQL: `SELECT *` omits it."""
    return name.startswith("$")


class WindowType(Enum):
    """Tumbling, hopping, cumulating and session windows."""

    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    CUMULATING = "CUMULATING"
    SESSION = "SESSION"


@dataclass(frozen=True)
class KeyWindow:
    """Encoding of a windowed key; `size_ms` is None if keys contain both bounds."""

    type: WindowType
    size_ms: int | None = None

    @property
    def has_end(self) -> bool:
        """Whether keys contain the window's end: sessions have no size, and cumulating windows with
        one start have several ends."""
        return self.type in (WindowType.SESSION, WindowType.CUMULATING)


@dataclass(frozen=True)
class FormatSpec:
    """A format name with its properties (`delimiter`, `wrap`); resolved in FORMATS."""

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TimestampColumn:
    """The column that gives a record's event time; `format` is a java.time pattern for text."""

    name: str
    format: str | None = None


class OnViolation(Enum):
    """Action for a record that violates a constraint; it never produces a row."""

    DROP_ROW = "DROP ROW"
    """Only counted."""
    TO_ERRORS = "TO ERRORS"
    """Also written to the processing log."""
    FAIL = "FAIL"
    """The query stops before the record."""


@dataclass(frozen=True)
class Constraint:
    """Expectation for the records of a stream or table; `condition` is SQL."""

    name: str
    condition: str
    on_violation: OnViolation

    def __str__(self) -> str:
        return (
            f"{quote(self.name)} EXPECT ({self.condition}) ON VIOLATION {self.on_violation.value}"
        )


@dataclass(frozen=True)
class Watermark:
    """How far the times of a column have come: its greatest value so far, less a delay."""

    column: str
    delay: int
    """Microseconds."""


@dataclass(frozen=True)
class Topic:
    """A topic and the encoding of its records. `partitions` is None if unknown."""

    name: str
    key_format: FormatSpec
    value_format: FormatSpec
    window: KeyWindow | None = None
    partitions: int | None = None
    replicas: int | None = None
    retention_ms: int | None = None
