"""A server with users over a running engine: what roles may do, and the information on queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live
from starlette.testclient import TestClient

from streamsql.roles import Role
from streamsql.server.app import build_app
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.users.accounts import add_user

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def ask(live: Live, tmp_path: Path) -> Iterator[Ask]:
    """Sends statements as a user of the role, and gives status and text of the answer."""
    users = tmp_path / "users"
    for role in Role:
        add_user(users, role.value, role, "pw")
    config = ServerConfig(users_file=users)
    with TestClient(build_app(ServerState(live.engine, config)), config.url) as client:

        def asked(role: Role, sql: str, path: str = "/ksql") -> tuple[int, str]:
            auth = (role.value, "pw")
            if path == "/metrics":
                answer = client.get(path, auth=auth)
            else:
                name = "sql" if path == "/streamsql/execute" else "ksql"
                answer = client.post(path, json={name: live.sql(sql)}, auth=auth)
            return answer.status_code, answer.text

        yield asked


def test_roles_hold_for_every_way_in(
    live: Live, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "streamsql")
    create = (
        "CREATE STREAM $s (k STRING KEY, v INT)"
        " WITH (kafka_topic='$s', value_format='json', partitions=1);"
    )
    status, text = ask(Role.READ_ONLY, create)
    assert status == 403 and '"error_code":40300' in text
    # Answered by lines, the first of which is the error.
    status, text = ask(Role.READ_ONLY, create, "/streamsql/execute")
    assert status == 200 and "ForbiddenError" in text
    assert live.name("S") not in live.engine.catalog().sources
    assert ask(Role.DEVELOPER, create)[0] == 200
    done = [r for r in caplog.records if r.name == "streamsql.statements"]
    assert [r.getMessage() for r in done] == [f"done: {live.sql(create).rstrip(';')}"]
    assert ask(Role.DEVELOPER, "INSERT INTO $s (k, v) VALUES ('a', 1);")[0] == 200
    connector = "CREATE SINK CONNECTOR $c WITH ('connection.password' = 'sesame');"
    status, text = ask(Role.DEVELOPER, connector)
    assert status == 403 and "sesame" not in text and "[hidden]" in text
    status, text = ask(Role.READ_ONLY, "DESCRIBE $s;")
    assert status == 200 and live.name("S") in text
    live.run("DROP STREAM $s;")


def test_metrics_are_those_of_the_queries(live: Live, ask: Ask) -> None:
    live.run(
        "CREATE STREAM $m (k STRING KEY, v INT) WITH (kafka_topic='$m', value_format='json',"
        " partitions=1);"
        "INSERT INTO $m (k, v) VALUES ('a', 1);"
    )
    (query_id,) = [
        r.query_id  # type: ignore[union-attr]
        for r in live.run("CREATE TABLE $n AS SELECT k, COUNT(*) AS n FROM $m GROUP BY k;")
        if getattr(r, "query_id", None)
    ]
    wanted = (
        f'streamsql_query_records_in_total{{query_id="{query_id}"}} 1.0',
        f'streamsql_query_records_out_total{{query_id="{query_id}"}} 1.0',
        f'streamsql_query_errors_total{{query_id="{query_id}"}} 0.0',
        f'streamsql_query_lag_records{{query_id="{query_id}"}} 0.0',
        f'streamsql_query_latency_seconds_count{{query_id="{query_id}"}} 1.0',
    )

    def told() -> bool:
        status, text = ask(Role.READ_ONLY, "", "/metrics")
        assert status == 200
        lines = text.splitlines()
        return all(line in lines for line in wanted)

    await_until(told, "the query's numbers are reported", PATIENCE, every=0.5)
