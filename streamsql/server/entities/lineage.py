"""lineage: column lineage in the form of OpenLineage's facet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamsql.server.entities.base import JSON, Executed

_ALL = "*"


def shown(executed: Executed) -> JSON:
    """SHOW LINEAGE OF | FROM name[.column]: source columns by column and separately those that
    determine which rows exist; or dependent columns by column."""
    statement = executed.statement
    fields: dict[str, list[JSON]] = {}
    dataset: list[JSON] = []
    for row in executed.rows:
        of_all = row["Column"] == _ALL
        found = dataset if of_all else fields.setdefault(row["Column"], [])
        if row["Type"] is not None:
            found.append(_related(row))
    upstream = statement.direction == "OF"
    related = "inputFields" if upstream else "outputFields"
    content: JSON = {"fields": {name: {related: found} for name, found in fields.items()}}
    if upstream:
        content["dataset"] = dataset
    return executed.entity(
        "lineage",
        name=statement.name,
        column=statement.column,
        direction=statement.direction,
        **content,
    )


def _related(row: Mapping[str, Any]) -> JSON:
    names = ("Source", "Source Column") if "Source" in row else ("Dependent", "Dependent Column")
    source, column = (row[name] for name in names)
    return {
        "name": source,
        "field": column,
        "topic": row["Kafka Topic"],
        "transformations": [{"type": row["Type"], "subtype": row["Transformation"]}],
        "queries": row["Queries"].split(", ") if row["Queries"] else [],
    }
