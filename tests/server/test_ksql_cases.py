"""The answers of POST /ksql as data: tests/cases/server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datadriven import Case, cases, check
from engine.connect_api import ConnectCluster
from engine.offline import Offline
from server.offline_server import OfflineRunner

from streamsql.api.script import parse_script
from streamsql.nodes import ShowWhat
from streamsql.properties import CONNECT_URL
from streamsql.registry.embedded.server import HttpServer
from streamsql.server.endpoints.ksql import StatementFailed, Statements, await_command
from streamsql.server.entities import BUILDERS, CommandStatuses
from streamsql.server.http.errors import COMMAND_QUEUE_TIMEOUT, RequestError
from streamsql.server.http.requests import StatementRequest
from streamsql.session import Session
from streamsql.statements.dispatch import handle


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[OfflineRunner]:
    runner = OfflineRunner(Offline(tmp_path))
    with runner.offline:
        yield runner


@pytest.mark.parametrize("case", cases("server", "ksql_*.txt"))
def test_case(case: Case, runner: OfflineRunner, rewrite: bool) -> None:
    check(case, {"ksql": lambda case: answer(case, runner)}, rewrite)


@pytest.mark.parametrize("case", cases("server", "connectors.txt"))
def test_connectors(case: Case, runner: OfflineRunner, rewrite: bool) -> None:
    """With a server that speaks Kafka Connect's API."""
    server = HttpServer(ConnectCluster().app)
    runner.offline.state.session.properties[CONNECT_URL] = server.start()
    try:
        check(case, {"ksql": lambda case: answer(case, runner)}, rewrite)
    finally:
        server.stop()


def answer(case: Case, runner: OfflineRunner) -> str:
    """The statements before a line `=>` are there already; `only=`, names of fields to be shown."""
    before, arrow, sql = case.input.rpartition("=>\n")
    if arrow:
        runner.given(before)
    session = Session(dict(runner.offline.state.session.properties))
    statements = Statements(runner, session, CommandStatuses())
    try:
        found = statements.run(parse_script(sql, session))
    except StatementFailed as failed:
        return f"{failed.failure.status}\n{shown(failed.failure.body)}"
    return "\n".join(shown(entity) for entity in found)


def shown(entity: dict[str, Any]) -> str:
    """A line for each field."""
    return "\n".join(f"{name}: {json.dumps(value)}" for name, value in entity.items())


def test_a_command_that_a_request_waits_for_in_vain(runner: OfflineRunner) -> None:
    await_command(runner, StatementRequest("SHOW TYPES;", sequence=0))
    with pytest.raises(RequestError, match="command sequence number: 7") as refused:
        await_command(runner, StatementRequest("SHOW TYPES;", sequence=7), timeout=0)
    assert refused.value.code == COMMAND_QUEUE_TIMEOUT


def test_statements_with_a_shape_of_their_own_exist() -> None:
    assert BUILDERS.keys() <= {kind.__name__ for kind in handle.registry}


def test_every_list_has_an_entity() -> None:
    from streamsql.server.entities.listings import _LISTS

    assert _LISTS.keys() == {what.value for what in ShowWhat}
