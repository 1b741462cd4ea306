"""Normal form of statements, for comparison."""

from __future__ import annotations

from dataclasses import replace

from streamsql.nodes import Properties, Statement
from streamsql.parser.generate.statements import to_sql

_CONDITIONS = ("or_replace", "if_not_exists", "if_exists")


def canonical(statement: Statement) -> str:
    """Normal form of a statement for comparison, independent of formatting, the order of
    properties, and IF NOT EXISTS."""
    changes: dict[str, object] = {n: False for n in _CONDITIONS if hasattr(statement, n)}
    properties: Properties = getattr(statement, "properties", ())
    if properties:
        changes["properties"] = tuple(sorted(properties, key=lambda p: p.name))
    return to_sql(replace(statement, **changes))  # type: ignore[arg-type]
