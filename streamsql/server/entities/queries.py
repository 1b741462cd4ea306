"""queries, queryDescription and query_descriptions: what runs, and how."""

from __future__ import annotations

from streamsql import nodes
from streamsql.planner.explain.plan import explain
from streamsql.planner.plans.logical import Aggregate, LogicalPlan, QueryPlan, Sink
from streamsql.properties import shown
from streamsql.runtime.inspection import QueryFacts
from streamsql.server.entities.base import JSON, Executed, statement_text
from streamsql.server.entities.types import field
from streamsql.status import QueryInfo, QueryState

HOST = "localhost"
"""The one server that runs the queries, in a form that clients of several expect."""

_STATES = {QueryState.PAUSED: "PAUSED", QueryState.ERROR: "ERROR"}


def state(info: QueryInfo) -> str:
    """ksqlDB's word for it: a query that starts, catches up or waits for Kafka is RUNNING."""
    return _STATES.get(info.state, "RUNNING")


def running_query(info: QueryInfo, executed: Executed) -> JSON:
    """A query in a list."""
    source = executed.engine.catalog.sources.get(info.sink or "")
    return {
        "queryString": info.sql,
        "sinks": [info.sink] if info.sink else [],
        "sinkKafkaTopics": [source.topic.name] if source else [],
        "id": info.id,
        "statusCount": {state(info): 1},
        "queryType": info.kind,
        "state": state(info),
    }


def listed(statement: nodes.Show, executed: Executed) -> JSON:
    """SHOW QUERIES [EXTENDED]."""
    infos = executed.engine.infos()
    if not statement.extended:
        return executed.entity("queries", queries=[running_query(i, executed) for i in infos])
    facts = (executed.engine.query(info.id) for info in infos)
    found = [_description(f) for f in facts if f is not None]
    return executed.entity("query_descriptions", queryDescriptions=found)


def explained(statement: nodes.Explain, executed: Executed) -> JSON:
    """EXPLAIN of a query that runs, or of a statement."""
    facts = executed.engine.query(statement.query_id) if statement.query_id else None
    inner = statement.statement
    if facts is not None:
        description = _description(facts)
    elif inner is not None:
        plan = executed.engine.planned(inner, executed.session)
        own = {"statementText": statement_text(inner)}
        description = {**_BLANK, **(_planned(plan) if plan else {}), **own}
    else:
        description = dict(_BLANK)
    description["executionPlan"] = description["topology"] = executed.text
    return executed.entity("queryDescription", queryDescription=description)


_BLANK: JSON = {
    "id": "",
    "statementText": "",
    "windowType": None,
    "fields": [],
    "sources": [],
    "sinks": [],
    "topology": "",
    "executionPlan": "",
    "overriddenProperties": {},
    "ksqlHostQueryStatus": {},
    "queryType": "PUSH",
    "queryErrors": [],
    "tasksMetadata": [],
    "state": None,
}
"""Every field is there in every description."""


def _description(facts: QueryFacts) -> JSON:
    info = facts.info
    text = explain(facts.plan)
    return {
        **_BLANK,
        **_planned(facts.plan),
        "id": info.id,
        "statementText": info.sql,
        "topology": text,
        "executionPlan": text,
        "overriddenProperties": {n: shown(n, v) for n, v in sorted(facts.properties.items())},
        "ksqlHostQueryStatus": {HOST: state(info)},
        "queryType": info.kind,
        "queryErrors": _errors(info),
        "state": state(info),
    }


def _planned(plan: QueryPlan) -> JSON:
    """What a plan says of its query."""
    root = plan.root
    return {
        "windowType": _window(root),
        "fields": [field(column) for column in plan.schema],
        "sources": list(plan.reads),
        "sinks": [root.target.name] if isinstance(root, Sink) else [],
        "queryType": "PERSISTENT" if isinstance(root, Sink) else "PUSH",
    }


def _errors(info: QueryInfo) -> list[JSON]:
    if not info.error:
        return []
    return [{"timestamp": None, "errorMessage": info.error, "type": "SYSTEM"}]


def _window(plan: LogicalPlan) -> str | None:
    """The type of the window that the rows of a query are grouped by."""
    if isinstance(plan, Aggregate):
        return plan.window.type.value if plan.window else None
    found = (_window(node) for node in plan.inputs)
    return next((window for window in found if window), None)
