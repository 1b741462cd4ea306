"""Topics, functions, types, views, properties and variables."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql import nodes
from streamsql.functions import REGISTRY
from streamsql.functions.base import Function
from streamsql.functions.signature import Parameter, Signature
from streamsql.functions.user import UserAggregate, UserFunction, using
from streamsql.nodes import ShowWhat
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.properties import PROPERTIES, get_text, shown
from streamsql.server.entities import connectors, queries, sources
from streamsql.server.entities.base import JSON, Builder, Executed
from streamsql.server.entities.types import schema_info


def listed(statement: nodes.Show, executed: Executed) -> JSON | None:
    """SHOW | LIST what [EXTENDED]."""
    return _LISTS[statement.what](statement, executed)


def _topics(statement: nodes.Show, executed: Executed) -> JSON:
    found = []
    for row in executed.rows:
        topic: JSON = {
            "name": row["Kafka Topic"],
            "replicaInfo": [row["Partition Replicas"]] * row["Partitions"],
        }
        if statement.extended:
            topic["consumerCount"] = row["Consumers"]
            topic["consumerGroupCount"] = row["Consumer Groups"]
        found.append(topic)
    return executed.entity(
        "kafka_topics_extended" if statement.extended else "kafka_topics", topics=found
    )


def _functions(statement: nodes.Show, executed: Executed) -> JSON:
    found: Iterable[Function] = [*REGISTRY, *functions_of(executed.engine.catalog)]
    names = [
        {"name": f.name, "type": f.type, "category": f.category.upper()}
        for f in sorted(found, key=lambda f: f.name)
    ]
    return executed.entity("function_names", functions=names)


def described_function(statement: nodes.DescribeFunction, executed: Executed) -> JSON:
    """DESCRIBE FUNCTION name."""
    with using(functions_of(executed.engine.catalog)):
        function = REGISTRY.get(statement.name)
    own = isinstance(function, UserFunction | UserAggregate)
    return executed.entity(
        "describe_function",
        name=function.name,
        description=function.doc,
        author="",
        version="",
        path="" if own else "internal",
        functions=[_overload(function, s) for s in function.signatures],
        type=function.type,
    )


def _overload(function: Function, signature: Signature) -> JSON:
    return {
        "arguments": [_argument(p) for p in signature.parameters],
        "returnType": signature.returns,
        "description": function.doc,
    }


def _argument(parameter: Parameter) -> JSON:
    return {
        "name": parameter.name,
        "type": str(parameter.pattern),
        "description": "",
        "isVariadic": parameter.variadic,
    }


def _types(statement: nodes.Show, executed: Executed) -> JSON:
    known = sorted(executed.engine.catalog.types.items())
    return executed.entity("type_list", types={name: schema_info(t) for name, t in known})


def _views(statement: nodes.Show, executed: Executed) -> JSON:
    known = sorted(executed.engine.catalog.views.values(), key=lambda view: view.name)
    views = [{"name": v.name, "reads": sorted(v.reads), "statement": v.statement} for v in known]
    return executed.entity("views", views=views)


def _properties(statement: nodes.Show, executed: Executed) -> JSON:
    overrides = executed.session.properties
    found = [
        {
            "name": name,
            "scope": "KSQL",
            "value": shown(name, get_text(overrides, name)),
            "editable": True,
            "level": "SERVER",
        }
        for name in sorted(PROPERTIES)
    ]
    return executed.entity(
        "properties",
        properties=found,
        overwrittenProperties=sorted(n for n in overrides if n in PROPERTIES),
        defaultProperties=sorted(n for n in PROPERTIES if n not in overrides),
    )


def _variables(statement: nodes.Show, executed: Executed) -> JSON:
    known = sorted(executed.session.variables.items())
    return executed.entity("variables", variables=[{"name": n, "value": v} for n, v in known])


_LISTS: dict[ShowWhat, Builder] = {
    ShowWhat.STREAMS: sources.listed,
    ShowWhat.TABLES: sources.listed,
    ShowWhat.TOPICS: _topics,
    ShowWhat.ALL_TOPICS: _topics,
    ShowWhat.QUERIES: queries.listed,
    ShowWhat.FUNCTIONS: _functions,
    ShowWhat.TYPES: _types,
    ShowWhat.VIEWS: _views,
    ShowWhat.PROPERTIES: _properties,
    ShowWhat.VARIABLES: _variables,
    ShowWhat.CONNECTORS: connectors.listed,
    ShowWhat.SOURCE_CONNECTORS: connectors.listed,
    ShowWhat.SINK_CONNECTORS: connectors.listed,
    ShowWhat.CONNECTOR_PLUGINS: connectors.plugins,
}
