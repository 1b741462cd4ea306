"""The statements of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.streamsql.client import ServerError

WITH = (
    "kafka_topic",
    "partitions",
    "replicas",
    "retention_ms",
    "format",
    "key_format",
    "value_format",
    "key_delimiter",
    "value_delimiter",
    "timestamp",
    "timestamp_format",
    "wrap_single_value",
    "window_type",
    "window_size",
    "state_ttl",
)
"""Properties of WITH that a model's config gives by their names; all others go by
`with_properties`."""
STREAM, TABLE, VIEW, SOURCE = "stream", "table", "view", "source"
_COMMENTS = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_WHOLE = re.compile(
    rf"{_COMMENTS}CREATE\s+(?:OR\s+REPLACE\s+)?(?:SOURCE\s+)?(STREAM|TABLE)\b",
    re.IGNORECASE | re.DOTALL,
)
_TAIL = re.compile(r"(?:\s|;)+$")


@dataclass(frozen=True)
class Definition:
    """A model as the engine is to have it."""

    kind: str
    """STREAM, TABLE or VIEW, in lower case: what it is there."""
    name: str
    """As SQL has it: quoted where it has to be."""
    sql: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    """Those of SET that its query is to be run with."""
    is_query: bool = True
    """Whether a query fills its topic; else others do, or it is a view."""

    @property
    def key(self) -> str:
        """The name as the catalog has it."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """The name in the catalog of a name in SQL."""
    if name.startswith("`"):
        return name[1:-1].replace("``", "`")
    return name.upper()


def quoted(key: str) -> str:
    """A name of the catalog in SQL."""
    return "`" + key.replace("`", "``") + "`"


def definition_of(
    materialized: str, name: str, body: str, options: Mapping[str, Any], kind: str = STREAM
) -> Definition:
    """Of a model's SQL. `options` are `with`, `properties` and `comment`; `kind` is that of a
    source. ServerError for what does not fit together."""
    given = {str(key).upper(): value for key, value in (options.get("with") or {}).items()}
    body = _TAIL.sub("", body)
    if materialized == VIEW:
        if given:
            raise ServerError(
                f"the view {name} has no topic, so it takes no {', '.join(given)}",
                hint="A `stream` or a `table` has one.",
            )
        sql = f"CREATE VIEW {name} AS\n{body}\n;"
    elif materialized == SOURCE:
        kind, sql = _source(name, body, given, kind)
    else:
        kind = materialized
        sql = f"CREATE {kind.upper()} {name}{_clause(given)} AS\n{body}\n;"
    comment = options.get("comment")
    if comment and materialized != VIEW:
        sql += f"\nCOMMENT ON {kind.upper()} {name} IS {literal(comment)};"
    return Definition(
        VIEW if materialized == VIEW else kind,
        name,
        sql,
        dict(options.get("properties") or {}),
        is_query=materialized not in (VIEW, SOURCE),
    )


def _source(name: str, body: str, given: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """Its kind and its statement: the body is that, or the columns."""
    whole = _WHOLE.match(body)
    if whole is not None:
        if given:
            raise ServerError(
                f"{name} is a whole CREATE statement, and has {', '.join(given)} in its config too",
                hint="Put them into the WITH of the statement, or leave only the columns in the "
                "model.",
            )
        return whole[1].lower(), f"{body}\n;"
    if kind not in (STREAM, TABLE):
        raise ServerError(f"`kind` of the source {name} is {kind!r}: it is `stream` or `table`")
    columns = body.strip()
    if not columns.startswith("("):
        columns = f"(\n{columns}\n)"
    return kind, f"CREATE {kind.upper()} {name} {columns}{_clause(given)}\n;"


def _clause(given: Mapping[str, Any]) -> str:
    if not given:
        return ""
    pairs = (f"{name}={literal(value)}" for name, value in given.items())
    return f" WITH ({', '.join(pairs)})"


def literal(value: object) -> str:
    """A value of a config in SQL."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
    return "'" + str(value).replace("'", "''") + "'"
