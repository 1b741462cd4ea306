"""A server's plan and apply over a statement log, without Kafka, Spark and HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dbt.adapters.streamsql.client import Client, Outcome, ServerError
from statements.world import World

from streamsql.api.catalogs import encode_catalog
from streamsql.api.changing import plan_of_running
from streamsql.errors import StreamSQLError
from streamsql.pipelines.desired_state import read_desired
from streamsql.pipelines.difference import differences
from streamsql.pipelines.steps import steps_of
from streamsql.run_script import NamedText
from streamsql.session import Session
from streamsql.statements.changes.running import running_of_log


class StandIn(Client):
    """The answers to dbt's client, and its requests."""

    def __init__(self, sql: str = "") -> None:
        super().__init__("localhost")
        self.world = World()
        self.world.shell(sql)
        self.states = ["RUNNING"]
        """Of the queries, each time that they are asked for; the last one stays."""

    @property
    def done(self) -> list[str]:
        return [entry.sql for entry in self.world.entries]

    def execute(self, sql: str, properties: Mapping[str, Any] | None = None) -> Outcome:
        try:
            self.world.shell(sql.replace(" DELETE TOPIC", ""))
        except StreamSQLError as error:
            raise ServerError(error.message) from error
        self.world.entries[-1] = self.world.entries[-1].__class__(0, sql)
        return Outcome()

    def plan(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        running = running_of_log(self.world.entries)
        texts, session = [NamedText("model", sql)], Session(dict(properties or {}))
        plan = plan_of_running(texts, session, None, running, prune=False, partial=True).to_json()
        if plan["errors"]:
            raise ServerError(plan["errors"][0]["text"])
        changes: list[dict[str, Any]] = json.loads(json.dumps(plan["changes"]))
        return changes

    def apply(self, sql: str, properties: Mapping[str, Any] | None = None) -> list[str]:
        running = running_of_log(self.world.entries)
        session = Session(dict(properties or {}))
        desired = read_desired([NamedText("model", sql)], session, None, running, partial=True)
        items = differences(desired, running)
        for step in steps_of(items, running.catalog, {}):
            self.world.do(step.statement)
        item = next(item for item in items if item.definitions)
        return [f"{item.kind.capitalize()} {item.name} {item.action.value}"]

    def catalog(self) -> dict[str, Any]:
        return encode_catalog(self.world.replay.catalog)

    def queries(self) -> list[dict[str, Any]]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return [
            {"id": query_id, "state": state, "lag": 7, "error": "it broke"}
            for query_id in self.world.replay.queries
        ]
