"""Record formats for the planner: properties and supported columns. The executor decodes and
encodes records in the JVM."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import ClassVar

from streamsql.errors import InternalError, PlanError
from streamsql.formats.registered import InferredColumns, SchemaText
from streamsql.ksqldb import says
from streamsql.schema import Column
from streamsql.types import (
    STRING,
    SQLType,
    element_type,
    fields,
    is_array,
    is_map,
    is_struct,
    key_type,
    quote,
    to_sql,
)


class Side(Enum):
    """Which half of a record a format is used for."""

    KEY = "Key"
    VALUE = "Value"


class Format(ABC):
    """One record format."""

    name: ClassVar[str]
    has_delimiter: ClassVar[bool] = False
    """Whether KEY_DELIMITER and VALUE_DELIMITER apply."""
    wrap_options: ClassVar[frozenset[bool]] = frozenset()
    """Allowed values of WRAP_SINGLE_VALUE: whether a single value column is inside a record (true)
    or the whole value (false)."""
    regroups: ClassVar[bool] = True
    """Whether sources of this value format may be grouped and joined."""

    schema_type: ClassVar[str | None] = None
    """The type of this format's schemas in a schema registry, if it uses one."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Which of the properties FULL_NAME, SCHEMA_ID and NULLABLE apply."""
    whole_keys: ClassVar[bool] = False
    """Whether an inferred key is one column, whatever its schema."""

    written_as: ClassVar[str | None] = None
    """For read-only CDC formats: the format of results that would inherit it."""
    reads_by_id: ClassVar[bool] = False
    """Whether it is read, though never written, with schemas of a registry."""

    remedy: ClassVar[str | None] = None
    """Remedy for unsupported columns other than another format."""

    @abstractmethod
    def problem(self, columns: Sequence[Column]) -> str | None:
        """Why the format does not support these columns, or None."""

    def schema_of(
        self, columns: Sequence[Column], options: Mapping[str, str], *, wrapped: bool
    ) -> str:
        """Text of the schema of these columns; `options` are those of FormatSpec. Unwrapped, the
        only column is the value."""
        raise InternalError(f"{self.name} has no schemas")

    def columns_of(
        self, schema: SchemaText, options: Mapping[str, str], lone: str | None, *, upper: bool
    ) -> InferredColumns:
        """The columns of a schema: with `lone`, one of that name for the whole schema; `upper`:
        with their names in upper case. StreamSQLError if SQL has no such types."""
        raise InternalError(f"{self.name} has no schemas")

    def check(self, columns: Sequence[Column], side: Side) -> None:
        """PlanError if the format does not support the given key or value columns."""
        reason = self.problem(columns)
        if reason is not None:
            raise PlanError(
                f"{side.value} format does not support schema. "
                f"format: {self.name}, reason: {reason}",
                hint=self.remedy or f"Choose another {side.name}_FORMAT, such as JSON.",
                ksqldb=says(
                    "format",
                    side=side.value,
                    format=self.name,
                    columns=columns_text(columns),
                    reason=reason,
                ),
            )

    def check_wrap(self, wrap: bool) -> None:
        """PlanError if WRAP_SINGLE_VALUE does not support this value."""
        if wrap not in self.wrap_options:
            raise PlanError(
                f"Format '{self.name}' does not support 'WRAP_SINGLE_VALUE' set to "
                f"'{str(wrap).lower()}'.",
                hint="Leave WRAP_SINGLE_VALUE out.",
            )


def columns_text(columns: Sequence[Column]) -> str:
    """`[`A` INTEGER, `B` STRING]`, as messages show columns."""
    return "[" + ", ".join(str(column) for column in columns) + "]"


def type_problem(name: str, columns: Sequence[Column], supported: set[object]) -> str | None:
    """The message about the first column with an unsupported type constructor."""
    for column in columns:
        if column.type.this not in supported:
            kind = constructor(column.type)
            return (
                f"The '{name}' format does not support type '{kind}', column: {quote(column.name)}"
            )
    return None


def constructor(t: SQLType) -> str:
    """The name of a type without its parameters: ARRAY, DECIMAL, INTEGER."""
    return to_sql(t).split("<")[0].split("(")[0]


def maps_have_text_keys(t: SQLType) -> bool:
    """Whether every MAP inside has STRING keys."""
    if is_map(t):
        return key_type(t) == STRING and maps_have_text_keys(element_type(t))
    if is_array(t):
        return maps_have_text_keys(element_type(t))
    return not is_struct(t) or all(maps_have_text_keys(kind) for _, kind in fields(t))
