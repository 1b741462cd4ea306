"""A planned query as a source of another one."""

from __future__ import annotations

from dataclasses import replace

from streamsql.catalog import Source
from streamsql.errors import PlanError, Span
from streamsql.planner.operators import Derived, Project
from streamsql.planner.select.from_clause import From
from streamsql.schema import RESERVED_COLUMNS, KeyWindow
from streamsql.types import quote


def derived(
    root: Project, source: From, window: KeyWindow | None, alias: str, span: Span | None
) -> Derived:
    """The query's result, named `alias`; formats and partitions are its left-most source's."""
    _check_names(root, alias, span)
    topic = replace(source.origin.source.topic, name="", key_format=source.key_format)
    like = Source(alias, root.kind, root.schema, replace(topic, window=window))
    return Derived(root, like, alias)


def _check_names(root: Project, alias: str, span: Span | None) -> None:
    for column in root.schema:
        if column.name in RESERVED_COLUMNS:
            raise PlanError(
                f"Reserved column name in select: {quote(column.name)}. "
                "Please remove or alias the column.",
                detail=f"{quote(alias)} has this system column already.",
                span=span,
            )
