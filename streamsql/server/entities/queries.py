"""queries, queryDescription and query_descriptions."""

from __future__ import annotations

from streamsql.api.facts import PlanFacts, QueryFacts
from streamsql.properties import shown
from streamsql.server.entities.base import JSON, Executed, statement_text
from streamsql.server.entities.types import field
from streamsql.status import QueryInfo, QueryState

HOST = "localhost"
"""The single server that runs the queries, for clients that expect several."""

_STATES = {QueryState.PAUSED: "PAUSED", QueryState.ERROR: "ERROR"}


def state(info: QueryInfo) -> str:
    """ksqlDB's state: a query that starts, catches up or waits for Kafka is RUNNING."""
    return _STATES.get(info.state, "RUNNING")


def running_query(info: QueryInfo, executed: Executed) -> JSON:
    topic = executed.engine.topic_of(info.sink) if info.sink else None
    return {
        "queryString": info.sql,
        "sinks": [info.sink] if info.sink else [],
        "sinkKafkaTopics": [topic] if topic else [],
        "id": info.id,
        "statusCount": {state(info): 1},
        "queryType": info.kind,
        "state": state(info),
    }


def listed(executed: Executed) -> JSON:
    infos = executed.engine.infos()
    if not executed.statement.extended:
        return executed.entity("queries", queries=[running_query(i, executed) for i in infos])
    facts = (executed.engine.query(info.id) for info in infos)
    found = [_description(f) for f in facts if f is not None]
    return executed.entity("query_descriptions", queryDescriptions=found)


def explained(executed: Executed) -> JSON:
    statement = executed.statement
    facts = executed.engine.query(statement.name) if statement.name else None
    inner = statement.explained
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
"""Every description has all fields."""


def _description(facts: QueryFacts) -> JSON:
    info = facts.info
    return {
        **_BLANK,
        **_planned(facts.plan),
        "id": info.id,
        "statementText": info.sql,
        "topology": facts.explanation,
        "executionPlan": facts.explanation,
        "overriddenProperties": {n: shown(n, v) for n, v in sorted(facts.properties.items())},
        "ksqlHostQueryStatus": {HOST: state(info)},
        "queryType": info.kind,
        "queryErrors": _errors(info),
        "state": state(info),
    }


def _planned(plan: PlanFacts) -> JSON:
    return {
        "windowType": plan.window,
        "fields": [field(column) for column in plan.schema],
        "sources": list(plan.reads),
        "sinks": [plan.sink] if plan.sink else [],
        "queryType": "PERSISTENT" if plan.sink else "PUSH",
    }


def _errors(info: QueryInfo) -> list[JSON]:
    if not info.error:
        return []
    return [{"timestamp": None, "errorMessage": info.error, "type": "SYSTEM"}]
