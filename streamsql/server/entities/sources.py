"""streams, tables and sourceDescription: what there is, and of what it is made."""

from __future__ import annotations

from typing import Any

from streamsql import nodes
from streamsql.catalog import Source
from streamsql.planner.ddl.views import source_of
from streamsql.schema import FormatSpec, Kind
from streamsql.server.entities.base import JSON, Executed
from streamsql.server.entities.queries import running_query
from streamsql.server.entities.types import field


def listed(statement: nodes.Show, executed: Executed) -> JSON:
    """SHOW STREAMS | TABLES [EXTENDED]."""
    kind = Kind.STREAM if statement.what is nodes.ShowWhat.STREAMS else Kind.TABLE
    if statement.extended:
        return _descriptions(kind, True, executed)
    type = f"{kind.value.lower()}s"
    return executed.entity(type, **{type: [_line(s) for s in _of_kind(kind, executed)]})


def _of_kind(kind: Kind, executed: Executed) -> list[Source]:
    return sorted(executed.engine.catalog.of_kind(kind), key=lambda source: source.name)


def _line(source: Source) -> JSON:
    topic = source.topic
    return {
        "type": source.kind.value,
        "name": source.name,
        "topic": topic.name,
        "keyFormat": _key_format(source),
        "valueFormat": topic.value_format.name,
        "isWindowed": source.is_windowed,
    }


def described_all(statement: nodes.DescribeAll, executed: Executed) -> JSON:
    """DESCRIBE STREAMS | TABLES [EXTENDED]."""
    return _descriptions(statement.kind, statement.extended, executed)


def _descriptions(kind: Kind, extended: bool, executed: Executed) -> JSON:
    found = [_description(s, extended, executed) for s in _of_kind(kind, executed)]
    return executed.entity("source_descriptions", sourceDescriptions=found)


def described(statement: nodes.Describe, executed: Executed) -> JSON:
    """DESCRIBE name [EXTENDED]; of a view, the columns and the statement."""
    catalog = executed.engine.catalog
    if statement.name in catalog.views:
        view = catalog.views[statement.name]
        facts: JSON = {
            **_BLANK,
            "name": view.name,
            "type": "VIEW",
            "fields": [field(column) for column in source_of(view, catalog).schema],
            "extended": statement.extended,
            "statement": view.statement,
        }
    else:
        facts = _description(catalog.get(statement.name), statement.extended, executed)
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
"""Every field is there in every description."""


def _description(source: Source, extended: bool, executed: Executed) -> JSON:
    topic, catalog = source.topic, executed.engine.catalog
    facts: JSON = {
        **_BLANK,
        "name": source.name,
        "windowType": topic.window.type.value if topic.window else None,
        "readQueries": _queries(catalog.readers(source.name), executed),
        "writeQueries": _queries(catalog.writers(source.name), executed),
        "fields": [field(column) for column in source.schema],
        "type": source.kind.value,
        "timestamp": source.timestamp.name if source.timestamp else "",
        "extended": extended,
        "keyFormat": _key_format(source),
        "valueFormat": topic.value_format.name,
        "topic": topic.name,
        "statement": source.statement,
        "sourceConstraints": list(catalog.viewers(source.name)),
    }
    return facts | _in_kafka(source, executed) if extended else facts


def _queries(ids: list[str], executed: Executed) -> list[JSON]:
    infos = (executed.engine.info(query_id) for query_id in ids)
    return [running_query(info, executed) for info in infos if info is not None]


def _in_kafka(source: Source, executed: Executed) -> JSON:
    info = executed.engine.topic(source.topic.name)
    return {
        "partitions": info.partitions if info else source.topic.partitions or 0,
        "replication": info.replicas if info else source.topic.replicas or 0,
        "queryOffsetSummaries": [
            _offsets(query_id, executed)
            for query_id in executed.engine.catalog.readers(source.name)
        ],
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


def _key_format(source: Source) -> str:
    spec: FormatSpec = source.topic.key_format
    return spec.name if source.schema.key else "NONE"
