"""CREATE, DROP, DESCRIBE and SHOW of connectors in a Kafka Connect cluster. Connectors are not part
of the catalog or the statement log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from streamsql.catalog import Catalog
from streamsql.connectors.client import CLASS, ConnectClient, Connector, cause, missing
from streamsql.errors import ConfigError, ExternalError, did_you_mean
from streamsql.executor.captures import lag_bytes
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

UNKNOWN = "UNKNOWN"
RECORDS_SECONDS = 10.0


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
    """DESCRIBE CONNECTOR: state, lag, tasks, topics, and the streams and tables over them."""
    context.plan(statement)
    name, client = statement.name, _running(context)
    if client is None:
        found = _recorded(context).get(name)
        if found is None:
            raise missing(name)
        return [Text(_facts({**_named(name, found.get(CLASS, "")), "Error": _trouble(context)}))]
    connector, topics = client.connector(name), client.topics(name)
    facts = {
        **_named(name, connector.class_name),
        "Type": connector.type,
        "State": connector.state,
        "Worker": connector.worker,
        "Lag": _lag(connector, client, context),
        "Error": connector.trace,
        **_restarts(name, context),
    }
    results: list[Result] = [Text(_facts(facts))]
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


def _named(name: str, class_name: str) -> dict[str, str | None]:
    """The facts that are known without the worker."""
    return {"Name": name, "Class": class_name, "Type": UNKNOWN, "State": UNKNOWN}


def _facts(facts: Mapping[str, str | None]) -> str:
    return "\n".join(f"{title:<8}: {fact}" for title, fact in facts.items() if fact)


def _restarts(name: str, context: Context) -> dict[str, str]:
    failures = context.state.services.embedded_connect.failures(name)
    if ConnectClient.of(context.session.properties) is not None or failures is None:
        return {}
    at = failures.restarts_at or failures.since
    when = "next restart" if failures.restarts_at is not None else "restarted"
    moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "Failures": f"{failures.count} in a row, {when} at {moment}",
        "Cause": failures.cause,
    }


def _lag(connector: Connector, client: ConnectClient, context: Context) -> str | None:
    """How much a connector has not yet read. Connect itself does not know it."""
    state = context.state
    try:
        if connector.type == "sink":
            config = client.config(connector.name)
            group = config.get("consumer.override.group.id", f"connect-{connector.name}")
            kafka = state.services.kafka.peek()
            records = kafka.group_lag(group) if kafka is not None else None
            return UNKNOWN if records is None else f"{records} records"
        capture = state.captures.capture_of(connector.name)
        if capture is None:
            return UNKNOWN
        size = lag_bytes(capture, connector.name, state.services)
        return UNKNOWN if size is None else f"{size} bytes of the database's log"
    except ExternalError as error:
        return f"{UNKNOWN}: {error.message}"


def _trouble(context: Context) -> str:
    trouble = context.state.services.embedded_connect.trouble
    return "the worker does not run" + (f": {trouble}" if trouble else "")


def _failure(trace: str) -> str:
    """The stack trace, with its last cause first."""
    last = cause(trace)
    return trace if trace.startswith(last) else f"{last}\n{trace}"


def _sources(catalog: Catalog, topics: Iterable[str]) -> list[tuple[str, str, str]]:
    """The streams and tables over the topics."""
    used = set(topics)
    found = (s for s in catalog.sources.values() if s.topic.name in used)
    return sorted((s.name, s.topic.name, s.kind.value) for s in found)


def show(context: Context, type: ConnectorType | None) -> Iterable[Result]:
    """The connectors. Without a running worker, only their names and classes are known."""
    client = _running(context)
    if client is not None:
        found = [(c.name, c.type, c.class_name, c.status) for c in client.connectors()]
    else:
        status = f"{UNKNOWN}: {_trouble(context)}"
        found = [
            (name, UNKNOWN.lower(), config.get(CLASS, ""), status)
            for name, config in sorted(_recorded(context).items())
        ]
    rows = [
        (name, of.upper(), class_name, status)
        for name, of, class_name, status in found
        if type is None or of in (type.value.lower(), UNKNOWN.lower())
    ]
    return [Rows(_fields("Connector Name", "Type", "Class", "Status"), rows)]


def show_plugins(context: Context) -> Iterable[Result]:
    """SHOW CONNECTOR PLUGINS: sources and sinks only. Those that the worker does not have yet are
    known from the declarations in their jars."""
    client, services = _running(context), context.state.services
    found = client.plugins() if client is not None else []
    known = {plugin.class_name for plugin in found}
    declared, others = services.installed_plugins(context.session.properties)
    found += [plugin for plugin in declared if plugin.class_name not in known]
    rows = [
        (plugin.class_name, plugin.type.upper(), plugin.version)
        for plugin in found
        if plugin.type in ("source", "sink")
    ]
    results: list[Result] = [Rows(_fields("Class", "Type", "Version"), rows)]
    if client is None and others:
        plugins = ", ".join(others)
        results.append(Warning(f"The classes of {plugins} are known when the worker runs."))
    return results


def _client(context: Context) -> ConnectClient:
    return context.state.services.connect(context.session.properties)


def _running(context: Context) -> ConnectClient | None:
    """For statements that only look, which start nothing."""
    return context.state.services.running_connect(context.session.properties)


def _recorded(context: Context) -> dict[str, dict[str, str]]:
    return context.state.services.recorded_connectors(RECORDS_SECONDS)


def _fields(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name) for name in names)
