"""A plan over other topics: those that a run of a test has for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from streamsql.catalog import Source
from streamsql.planner.operators import Operator, Scan, Sink
from streamsql.planner.plans.query_plan import QueryPlan

Rename = Callable[[str], str]


def moved(query: QueryPlan, rename: Rename) -> QueryPlan:
    """The query over renamed topics; its id, which names it in Spark, is renamed too."""
    query_id = None if query.query_id is None else rename(query.query_id)
    return replace(query, root=_moved(query.root, rename), query_id=query_id)


def _moved(node: Operator, rename: Rename) -> Operator:
    changes: dict[str, object] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Operator):
            changes[field.name] = _moved(value, rename)
    if isinstance(node, Scan):
        changes["source"] = _renamed(node.source, rename)
    elif isinstance(node, Sink):
        changes["target"] = _renamed(node.target, rename)
    return replace(node, **changes)


def _renamed(source: Source, rename: Rename) -> Source:
    return replace(source, topic=replace(source.topic, name=rename(source.topic.name)))
