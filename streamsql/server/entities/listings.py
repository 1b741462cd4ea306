"""Topics, functions, types, views, properties and variables."""

from __future__ import annotations

from streamsql.api.facts import FunctionFacts, ParameterFacts, SignatureFacts
from streamsql.properties import PROPERTIES
from streamsql.server.entities import connectors, queries, sources
from streamsql.server.entities.base import JSON, Builder, Executed
from streamsql.server.entities.types import schema_info


def listed(executed: Executed) -> JSON | None:
    return _LISTS[executed.statement.lists](executed)


def _topics(executed: Executed) -> JSON:
    found = []
    for row in executed.rows:
        topic: JSON = {
            "name": row["Kafka Topic"],
            "replicaInfo": [row["Partition Replicas"]] * row["Partitions"],
        }
        if executed.statement.extended:
            topic["consumerCount"] = row["Consumers"]
            topic["consumerGroupCount"] = row["Consumer Groups"]
        found.append(topic)
    return executed.entity(
        "kafka_topics_extended" if executed.statement.extended else "kafka_topics", topics=found
    )


def _functions(executed: Executed) -> JSON:
    found = [
        {"name": f.name, "type": f.type, "category": f.category.upper()}
        for f in executed.engine.functions()
    ]
    return executed.entity("function_names", functions=found)


def described_function(executed: Executed) -> JSON:
    function = executed.engine.function(executed.statement.name or "")
    return executed.entity(
        "describe_function",
        name=function.name,
        description=function.doc,
        author="",
        version="",
        path="" if function.own else "internal",
        functions=[_overload(function, s) for s in function.signatures],
        type=function.type,
    )


def _overload(function: FunctionFacts, signature: SignatureFacts) -> JSON:
    return {
        "arguments": [_argument(p) for p in signature.parameters],
        "returnType": signature.returns,
        "description": function.doc,
    }


def _argument(parameter: ParameterFacts) -> JSON:
    return {
        "name": parameter.name,
        "type": parameter.type,
        "description": "",
        "isVariadic": parameter.variadic,
    }


def _types(executed: Executed) -> JSON:
    known = sorted(executed.engine.types().items())
    return executed.entity("type_list", types={name: schema_info(t) for name, t in known})


def _views(executed: Executed) -> JSON:
    known = sorted(executed.engine.views(), key=lambda view: view.name)
    views = [{"name": v.name, "reads": list(v.reads), "statement": v.statement} for v in known]
    return executed.entity("views", views=views)


def _materialized_views(executed: Executed) -> JSON:
    views = [{"name": row["View Name"], "topic": row["Kafka Topic"]} for row in executed.rows]
    return executed.entity("materialized_views", views=views)


_OF_A_SINK = {
    "name": "Sink Name",
    "reads": "Reads",
    "connection": "Connection",
    "path": "Path",
    "format": "Format",
    "queryId": "Query ID",
}


def _sinks(executed: Executed) -> JSON:
    found = [{key: row[title] for key, title in _OF_A_SINK.items()} for row in executed.rows]
    return executed.entity("sinks", sinks=found)


def described_sink(executed: Executed) -> JSON:
    """DESCRIBE SINK: columns, destination and progress."""
    columns = [row for row in executed.rows if "Field" in row]
    fields = [{"name": row["Field"], "type": row["Type"]} for row in columns]
    name = executed.statement.name
    return executed.entity("sink_description", name=name, fields=fields, details=executed.text)


def _properties(executed: Executed) -> JSON:
    overrides = executed.session.properties
    found = [
        {
            "name": row["Property"],
            "scope": "KSQL",
            "value": row["Effective Value"],
            "editable": not PROPERTIES[row["Property"]].at_start,
            "level": "SERVER",
        }
        for row in executed.rows
    ]
    return executed.entity(
        "properties",
        properties=found,
        overwrittenProperties=sorted(n for n in overrides if n in PROPERTIES),
        defaultProperties=sorted(n for n in PROPERTIES if n not in overrides),
    )


def _variables(executed: Executed) -> JSON:
    known = sorted(executed.session.variables.items())
    return executed.entity("variables", variables=[{"name": n, "value": v} for n, v in known])


def rows(executed: Executed) -> JSON | None:
    """The rows of a statement as mappings; its warnings if it has none."""
    if executed.rows:
        return executed.entity("rows", rows=[dict(row) for row in executed.rows])
    if executed.warnings:
        return executed.entity("warning_entity", message="\n".join(executed.warnings))
    return None


_LISTS: dict[str, Builder] = {
    "STREAMS": sources.listed,
    "TABLES": sources.listed,
    "TOPICS": _topics,
    "ALL TOPICS": _topics,
    "QUERIES": queries.listed,
    "FUNCTIONS": _functions,
    "TYPES": _types,
    "VIEWS": _views,
    "MATERIALIZED VIEWS": _materialized_views,
    "SINKS": _sinks,
    "SOURCES": rows,
    "PROPERTIES": _properties,
    "VARIABLES": _variables,
    "CONNECTORS": connectors.listed,
    "SOURCE CONNECTORS": connectors.listed,
    "SINK CONNECTORS": connectors.listed,
    "CONNECTOR PLUGINS": connectors.plugins,
}
