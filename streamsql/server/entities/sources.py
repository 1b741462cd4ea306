"""streams, tables and sourceDescription."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsql.api.facts import SourceFacts
from streamsql.schema import Kind
from streamsql.server.entities.base import JSON, Executed
from streamsql.server.entities.queries import running_query
from streamsql.server.entities.types import field


def listed(executed: Executed) -> JSON:
    kind = Kind.STREAM if executed.statement.lists == "STREAMS" else Kind.TABLE
    if executed.statement.extended:
        return _descriptions(kind, True, executed)
    type = f"{kind.value.lower()}s"
    return executed.entity(type, **{type: [_line(s) for s in _of_kind(kind, executed)]})


def _of_kind(kind: Kind, executed: Executed) -> list[SourceFacts]:
    return sorted(executed.engine.sources(kind), key=lambda source: source.name)


def _line(source: SourceFacts) -> JSON:
    return {
        "type": source.kind.value,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key_format or "NONE",
        "valueFormat": source.value_format,
        "isWindowed": source.window is not None,
    }


def described_all(executed: Executed) -> JSON:
    statement = executed.statement
    assert statement.source_kind is not None
    return _descriptions(statement.source_kind, statement.extended, executed)


def _descriptions(kind: Kind, extended: bool, executed: Executed) -> JSON:
    found = [_description(s, extended, executed) for s in _of_kind(kind, executed)]
    return executed.entity("source_descriptions", sourceDescriptions=found)


def described(executed: Executed) -> JSON:
    """DESCRIBE name [EXTENDED]; for a view, its columns and statement."""
    statement, engine = executed.statement, executed.engine
    view = next((view for view in engine.views() if view.name == statement.name), None)
    if view is not None:
        facts: JSON = {
            **_BLANK,
            "name": view.name,
            "type": "VIEW",
            "fields": [field(column) for column in engine.view_schema(view.name)],
            "extended": statement.extended,
            "statement": view.statement,
        }
    else:
        facts = _description(engine.source(statement.name or ""), statement.extended, executed)
    return executed.entity("sourceDescription", sourceDescription=facts)


_BLANK: JSON = {
    "name": "",
    "windowType": None,
    "readQueries": [],
    "writeQueries": [],
    "fields": [],
    "type": "",
    "timestamp": "",
    "statistics": "",
    "errorStats": "",
    "extended": False,
    "keyFormat": "",
    "valueFormat": "",
    "topic": "",
    "partitions": 0,
    "replication": 0,
    "statement": "",
    "queryOffsetSummaries": [],
    "sourceConstraints": [],
}
"""Every description has all fields."""


def _description(source: SourceFacts, extended: bool, executed: Executed) -> JSON:
    facts: JSON = {
        **_BLANK,
        "name": source.name,
        "windowType": source.window,
        "readQueries": _queries(source.readers, executed),
        "writeQueries": _queries(source.writers, executed),
        "fields": [field(column) for column in source.schema],
        "type": source.kind.value,
        "timestamp": source.timestamp or "",
        "extended": extended,
        "keyFormat": source.key_format or "NONE",
        "valueFormat": source.value_format,
        "topic": source.topic,
        "statement": source.statement,
        "sourceConstraints": list(source.viewers),
    }
    return facts | _in_kafka(source, executed) if extended else facts


def _queries(ids: Sequence[str], executed: Executed) -> list[JSON]:
    infos = (executed.engine.info(query_id) for query_id in ids)
    return [running_query(info, executed) for info in infos if info is not None]


def _in_kafka(source: SourceFacts, executed: Executed) -> JSON:
    info = None if source.looked_up else executed.engine.topic(source.topic)
    return {
        "partitions": info.partitions if info else source.partitions or 0,
        "replication": info.replicas if info else source.replicas or 0,
        "queryOffsetSummaries": [_offsets(id, executed) for id in source.readers],
    }


def _offsets(query_id: str, executed: Executed) -> JSON:
    topics: dict[str, list[dict[str, Any]]] = {}
    for found in executed.engine.progress(query_id):
        topics.setdefault(found.topic, []).append(
            {
                "partition": found.partition,
                "logStartOffset": found.start,
                "logEndOffset": found.end,
                "consumerOffset": found.offset,
            }
        )
    return {
        "groupId": query_id,
        "topicSummaries": [
            {"kafkaTopic": name, "offsets": offsets} for name, offsets in topics.items()
        ],
    }
