"""COLUMNS, DROP_COLUMNS and KEEP_COLUMNS of CREATE SINK: the columns of a table of Iceberg."""

from __future__ import annotations

import re
from collections.abc import Collection

from streamsql.errors import BindError, ConfigError, UnsupportedError, did_you_mean
from streamsql.planner.operators import TableColumn, name_in_table
from streamsql.planner.with_clause.names import NAME, listed_names, name_of
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.types import quote

PROPERTIES = ("COLUMNS", "DROP_COLUMNS", "KEEP_COLUMNS")
_EXAMPLE = "*, name AS customer"
_ALL = re.compile(r"\s*\*\s*(?:,|$)")
_COLUMN = re.compile(rf"\s*{NAME}\s*(?P<as>\bAS\b)?", re.IGNORECASE)
_OTHER = re.compile(rf"\s*{NAME}")
_END = re.compile(r"\s*(?:,|$)")


def written_columns(
    names: Collection[str], keys: Collection[str], reads: str, given: WithProperties
) -> tuple[TableColumn, ...]:
    """The columns that the sink writes, of those of the source, `reads`."""
    text, span = given.text("COLUMNS"), given.span("COLUMNS")
    listed = {"*": ""} if text is None else _listed(text, given)
    for name in listed:
        if name not in names and name != "*":
            raise BindError(
                f"COLUMNS: {reads} has no column {quote(name)}.",
                hint=did_you_mean(name, names) or f"It has {', '.join(names)}.",
                span=span,
            )
    chosen = names if "*" in listed else listed
    for key in keys:
        if key not in chosen:
            raise UnsupportedError(
                f"COLUMNS: without the key {quote(key)} MODE='UPSERT' cannot find the row that it "
                "replaces",
                span=span,
            )
    columns = tuple(TableColumn(n, listed.get(n) or name_in_table(n)) for n in chosen)
    if len({column.there for column in columns}) < len(columns):
        raise given.invalid("COLUMNS", "two columns have the same name", _EXAMPLE)
    return columns


def _listed(text: str, given: WithProperties) -> dict[str, str]:
    """By column the name in the table, empty if it is not given; `*` stands for all columns."""
    found: dict[str, str] = {}
    rest = text
    if match := _ALL.match(text):
        found["*"], rest = "", text[match.end() :]
    while match := _COLUMN.match(rest):
        name, other, rest = name_of(match), "", rest[match.end() :]
        if match["as"] and (alias := _OTHER.match(rest)):
            other, rest = name_in_table(name_of(alias)), rest[alias.end() :]
        end = _END.match(rest)
        if end is None or name in found or (match["as"] and not other):
            rest = text
            break
        found[name], rest = other, rest[end.end() :]
    if rest or not found or text.rstrip().endswith(","):
        raise given.invalid("COLUMNS", f"'{text}' is not a list of columns", _EXAMPLE)
    return found


def other_columns(
    property: str, written: Collection[TableColumn], given: WithProperties
) -> tuple[str, ...]:
    """Columns of the table that the sink does not write; ConfigError for one that it writes."""
    names = tuple(map(name_in_table, listed_names(property, given)))
    for column in written:
        if column.there in names:
            raise ConfigError(
                f"{property}: the sink writes the column {column.there}",
                hint=f"Omit {quote(column.name)} from COLUMNS, or {column.there} from {property}.",
                span=given.span(property),
            )
    return names
