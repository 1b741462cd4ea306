"""Protects internal topics from statements.

The plan of a statement has the final names of topics: a given name, a default name with the
session's prefix, or the topic of an existing source.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.config import is_internal, is_secret
from streamsql.errors import ForbiddenError
from streamsql.nodes import (
    CreateAsSelect,
    CreateConnector,
    CreateMaterializedView,
    CreateSource,
    DropSource,
    Print,
    Statement,
)
from streamsql.planner.plans.statements import Planned

_NAME_ANOTHER = "Name another topic: WITH (KAFKA_TOPIC='name', ..)."
_HINTS: Mapping[type[Statement], str] = {
    CreateSource: _NAME_ANOTHER,
    CreateAsSelect: _NAME_ANOTHER,
    CreateMaterializedView: _NAME_ANOTHER,
    CreateConnector: "Give the connector other topics.",
    DropSource: "Leave DELETE TOPIC out.",
    Print: "SHOW TOPICS lists the topics that statements can read.",
}


def check_topics(statement: Statement, planned: Planned) -> None:
    """ForbiddenError if a statement reads or writes an internal topic."""
    touched = planned.touches
    for topic in sorted(touched.writes):
        if is_internal(topic):
            raise _forbidden(statement, topic, "write")
    for topic in sorted(touched.reads):
        if is_secret(topic):
            raise _forbidden(statement, topic, "read")


def _forbidden(statement: Statement, topic: str, action: str) -> ForbiddenError:
    given = (p for p in getattr(statement, "properties", ()) if topic in str(p.value))
    return ForbiddenError(
        f"Statements cannot {action} the topic '{topic}': it is internal.",
        hint=_HINTS.get(type(statement)),
        span=next((p.span for p in given), None),
    )
