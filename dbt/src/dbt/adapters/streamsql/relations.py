"""Streams, tables, views and their columns, as dbt names them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from dbt.adapters.base import BaseRelation, Column
from dbt.adapters.contracts.relation import Policy
from dbt.adapters.streamsql.definitions import quoted
from dbt_common.dataclass_schema import StrEnum

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class StreamsqlRelationType(StrEnum):
    """The kinds of objects."""

    Stream = "stream"
    Table = "table"
    View = "view"
    CTE = "cte"
    Ephemeral = "ephemeral"
    MaterializedView = "materialized_view"
    External = "external"
    PointerTable = "pointer_table"
    Function = "function"


@dataclass(frozen=True, eq=False, repr=False)
class StreamsqlRelation(BaseRelation):
    """A name without database and schema, of which there is one each. It is quoted only where it
    has to be: so it is folded to upper case as any other name in SQL."""

    type: StreamsqlRelationType | None = None
    quote_character: str = "`"
    include_policy: Policy = field(
        default_factory=lambda: Policy(database=False, schema=False, identifier=True)
    )
    quote_policy: Policy = field(
        default_factory=lambda: Policy(database=False, schema=False, identifier=False)
    )


class StreamsqlColumn(Column):
    """A column whose type is written as the engine writes it."""

    TYPE_LABELS: ClassVar[dict[str, str]] = {}

    @property
    def data_type(self) -> str:
        """As in SQL."""
        return str(self.dtype)

    def is_string(self) -> bool:
        """Whether it is text."""
        return self.dtype.upper() in ("STRING", "VARCHAR")

    @classmethod
    def string_type(cls, size: int) -> str:
        """Lengths are ignored."""
        return "STRING"


def shown(key: str) -> str:
    """A name of the catalog as dbt has it: in lower case unless SQL has to quote it."""
    return key.lower() if key.isupper() and _PLAIN.match(key) else key


def column_of(key: str, kind: str) -> StreamsqlColumn:
    """A column of the catalog."""
    name = shown(key)
    return StreamsqlColumn(name if name != key else quoted(key), kind)
