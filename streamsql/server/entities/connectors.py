"""Connectors of Kafka Connect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamsql.results import Text
from streamsql.server.entities.base import JSON, Executed


def created(executed: Executed) -> JSON:
    if not executed.message:
        return _nothing_done(executed)
    # The configuration may contain secrets, which the client knows.
    statement = executed.statement
    kind = statement.connector_type.lower()
    info: JSON = {"name": statement.name, "config": {}, "tasks": [], "type": kind}
    return executed.entity("connector_info", info=info)


def dropped(executed: Executed) -> JSON:
    if executed.warnings:
        return _nothing_done(executed)
    return executed.entity("drop_connector", connectorName=executed.statement.name)


def _nothing_done(executed: Executed) -> JSON:
    return executed.entity("warning_entity", message="\n".join(executed.warnings))


def listed(executed: Executed) -> JSON:
    found = [
        {
            "name": row["Connector Name"],
            "type": row["Type"].lower(),
            "className": row["Class"],
            "state": row["Status"],
        }
        for row in executed.rows
    ]
    return executed.entity("connector_list", connectors=found)


def plugins(executed: Executed) -> JSON:
    found = [
        {"className": row["Class"], "type": row["Type"].lower(), "version": row["Version"]}
        for row in executed.rows
    ]
    return executed.entity("connector_plugins_list", connectorsPlugins=found)


def described(executed: Executed) -> JSON:
    facts = _facts(executed)
    worker = facts.get("Worker", "")
    rows = executed.rows
    names = [row["Source Name"] for row in rows if "Source Name" in row]
    return executed.entity(
        "connector_description",
        connectorClass=facts.get("Class", ""),
        status={
            "name": executed.statement.name,
            "connector": {
                "state": facts.get("State", ""),
                "worker_id": worker,
                "trace": facts.get("Error"),
            },
            "tasks": [_task(row, worker) for row in rows if "Task ID" in row],
            "type": facts.get("Type", ""),
        },
        sources=[{"name": n, "type": executed.engine.source(n).kind.value} for n in names],
        topics=[row["Related Topics"] for row in rows if "Related Topics" in row],
    )


def _facts(executed: Executed) -> dict[str, str]:
    """The lines `Name : value` at the start of DESCRIBE."""
    first = next((r.text for r in executed.results if isinstance(r, Text)), "")
    pairs = (line.partition(":") for line in first.splitlines())
    return {title.strip(): value.strip() for title, colon, value in pairs if colon}


def _task(row: Mapping[str, Any], worker: str) -> JSON:
    return {"id": row["Task ID"], "state": row["State"], "worker_id": worker, "trace": None}
