"""CREATE, DROP, DESCRIBE and SHOW of connectors in a Kafka Connect cluster. Connectors are not part
of the catalog or the statement log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from streamsql.catalog import Catalog
from streamsql.connectors.client import CLASS, ConnectClient, Connector
from streamsql.errors import ConfigError, did_you_mean
from streamsql.nodes import (
    ConnectorType,
    CreateConnector,
    DescribeConnector,
    DropConnector,
    Properties,
)
from streamsql.planner.plans.statements import OtherPlan
from streamsql.results import Field, Message, Result, Rows, Text, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle


@handle.register
def create(statement: CreateConnector, context: Context) -> Iterable[Result]:
    """CREATE SOURCE | SINK CONNECTOR: validated by Connect before it is created."""
    planned = context.plan(statement)
    client = _client(context)
    if statement.if_not_exists and client.exists(statement.name):
        return [Warning(f"Connector {statement.name} already exists")]
    if "/" in statement.name:
        # Connect would create it, but its URL could not be used.
        raise ConfigError("connector names cannot contain a slash")
    defaults = client.source_defaults if statement.type is ConnectorType.SOURCE else {}
    config = {**defaults, **_config(statement.properties)}
    try:
        _check_class(client, statement.type, config.get(CLASS))
    except ConfigError as error:
        error.span = next((p.span for p in statement.properties if p.name == CLASS), None)
        raise
    client.validate({"name": statement.name, **config})
    client.create(statement.name, config)
    done = Message(f"Created connector {statement.name}")
    warning = planned.warning if isinstance(planned, OtherPlan) else None
    return [done] if warning is None else [Warning(warning), done]


def _config(properties: Properties) -> dict[str, str]:
    return {p.name: _text(p.value) for p in properties}


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_class(client: ConnectClient, type: ConnectorType, name: str | None) -> None:
    """Checked before Connect, which reports an unknown class as an internal error."""
    hint = "SHOW CONNECTOR PLUGINS lists the available classes."
    if name is None:
        raise ConfigError(f"the connector has no '{CLASS}'", hint=hint)
    plugins = client.plugins()
    plugin = next((plugin for plugin in plugins if plugin.is_called(name)), None)
    if plugin is None:
        near = did_you_mean(name, (alias for plugin in plugins for alias in plugin.names))
        raise ConfigError(f"unknown connector class {name}", hint=near or hint)
    # A source declared as a sink would write unexpectedly.
    if plugin.type != type.value.lower():
        raise ConfigError(
            f"{plugin.class_name} is a {plugin.type} connector",
            hint=f"Use CREATE {plugin.type.upper()} CONNECTOR.",
        )


@handle.register
def drop(statement: DropConnector, context: Context) -> Iterable[Result]:
    context.plan(statement)
    client = _client(context)
    if statement.if_exists and not client.exists(statement.name):
        return [Warning(f"Connector {statement.name} does not exist.")]
    client.delete(statement.name)
    return [Message(f"Dropped connector {statement.name}")]


@handle.register
def describe(statement: DescribeConnector, context: Context) -> Iterable[Result]:
    """DESCRIBE CONNECTOR: state, tasks, topics, and the streams and tables over them."""
    context.plan(statement)
    client = _client(context)
    connector = client.connector(statement.name)
    topics = client.topics(statement.name)
    results: list[Result] = [Text(_facts(connector))]
    tasks = [(task.id, task.state) for task in connector.tasks]
    results.append(Rows(_fields("Task ID", "State"), tasks))
    results += [
        Text(f"Task {task.id} failed: {_failure(task.trace.strip())}\n")
        for task in connector.tasks
        if task.trace
    ]
    sources = _sources(context.state.catalog, topics)
    if sources:
        results.append(Rows(_fields("Source Name", "Kafka Topic", "Type"), sources))
    if topics:
        results.append(Rows(_fields("Related Topics"), [(topic,) for topic in topics]))
    return results


def _facts(connector: Connector) -> str:
    facts: Mapping[str, str | None] = {
        "Name": connector.name,
        "Class": connector.class_name,
        "Type": connector.type,
        "State": connector.state,
        "Worker": connector.worker,
        "Error": connector.trace,
    }
    return "\n".join(f"{title:<8}: {fact}" for title, fact in facts.items() if fact)


def _failure(trace: str) -> str:
    """The stack trace, with its last cause first."""
    causes = re.findall(r"^\s*Caused by: (.+)$", trace, re.MULTILINE)
    return f"{causes[-1]}\n{trace}" if causes else trace


def _sources(catalog: Catalog, topics: Iterable[str]) -> list[tuple[str, str, str]]:
    """The streams and tables over the topics."""
    used = set(topics)
    found = (s for s in catalog.sources.values() if s.topic.name in used)
    return sorted((s.name, s.topic.name, s.kind.value) for s in found)


def show(context: Context, type: ConnectorType | None) -> Iterable[Result]:
    rows = [
        (c.name, c.type.upper(), c.class_name, c.status)
        for c in _client(context).connectors()
        if type is None or c.type == type.value.lower()
    ]
    return [Rows(_fields("Connector Name", "Type", "Class", "Status"), rows)]


def show_plugins(context: Context) -> Iterable[Result]:
    """SHOW CONNECTOR PLUGINS: sources and sinks only."""
    rows = [
        (plugin.class_name, plugin.type.upper(), plugin.version)
        for plugin in _client(context).plugins()
        if plugin.type in ("source", "sink")
    ]
    return [Rows(_fields("Class", "Type", "Version"), rows)]


def _client(context: Context) -> ConnectClient:
    return context.state.services.connect(context.session.properties)


def _fields(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name) for name in names)
