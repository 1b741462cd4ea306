"""The ids of persistent queries."""

from __future__ import annotations

import re

from streamsql.catalog import Catalog
from streamsql.errors import ConfigError
from streamsql.nodes import InsertInto
from streamsql.planner.with_clause.properties import Place, read_properties

RESERVED_PREFIXES = ("INSERTQUERY_", "CTAS_", "CSAS_", "CST_")
_ID = re.compile(r"[A-Za-z0-9_]+")


def numbered_id(prefix: str, catalog: Catalog) -> str:
    """`<prefix>_<n>`, n counting the catalog's queries."""
    return f"{prefix}_{catalog.next_query}"


def number_of(query_id: str) -> int:
    """The number at the end of a generated id; 0 of one that a user chose."""
    digits = query_id.rpartition("_")[2]
    return int(digits) if query_id.startswith(RESERVED_PREFIXES) and digits.isdecimal() else 0


def insert_query_id(statement: InsertInto, catalog: Catalog) -> str:
    """The id that WITH (QUERY_ID=..) gives, or INSERTQUERY_<n>."""
    properties = read_properties(statement.properties, Place.INSERT)
    given = properties.text("QUERY_ID")
    if given is None:
        return numbered_id("INSERTQUERY", catalog)
    query_id = given.upper()
    span = properties.span("QUERY_ID")
    if not _ID.fullmatch(query_id):
        raise ConfigError(
            f"Invalid query ID: '{given}'. It may hold letters, digits and '_' only", span=span
        )
    if query_id.startswith(RESERVED_PREFIXES):
        raise ConfigError(
            f"Query IDs must not start with a reserved query ID prefix "
            f"({', '.join(RESERVED_PREFIXES)}). Got '{query_id}'.",
            span=span,
        )
    if query_id in catalog.queries:
        raise ConfigError(
            f"Query ID '{query_id}' already exists.",
            hint=f"TERMINATE {query_id} first, or choose another id.",
            span=span,
        )
    return query_id
