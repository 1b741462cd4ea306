"""A server as an engine: over real HTTP, without Kafka and Spark behind it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from awaiting import await_until
from client.servers import OfflineEngine, running

from streamsql.client.remote import RemoteEngine
from streamsql.client.transport import Address
from streamsql.errors import BindError, ConfigError, ExternalError, ParseError, UserError, render
from streamsql.results import Answer, Message, Result, Row, Rows, RowStream
from streamsql.roles import Role
from streamsql.schema import Column, Schema
from streamsql.server.settings.config import ServerConfig
from streamsql.session import Session
from streamsql.types import BIGINT, DATE, DOUBLE, STRING, decimal
from streamsql.users.accounts import add_user


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfflineEngine]:
    engine = OfflineEngine(tmp_path_factory.mktemp("offline"))
    yield engine
    engine.offline.close()


@pytest.fixture(scope="module")
def url(behind: OfflineEngine) -> Iterator[str]:
    with running(behind) as url:
        yield url


@pytest.fixture
def engine(url: str) -> Iterator[RemoteEngine]:
    with RemoteEngine(Address.of(url)) as engine:
        yield engine


def test_statements_give_results(engine: RemoteEngine) -> None:
    (shown,) = engine.execute("SHOW STREAMS;")
    assert isinstance(shown, Rows)
    assert ("KSQL_PROCESSING_LOG", "streamsql_processing_log") in [row[:2] for row in shown.rows]


def test_the_session_is_the_clients(engine: RemoteEngine, url: str) -> None:
    changed = list(engine.execute("SET 'auto.offset.reset' = 'latest'; DEFINE x = 'true';"))
    assert [type(result) for result in changed] == [Message, Message]
    assert engine.session.properties == {"auto.offset.reset": "latest"}
    assert engine.session.variables == {"X": "true"}
    list(engine.execute("SET 'ksql.suppress.enabled' = '${x}'; UNSET 'ksql.suppress.enabled';"))
    list(engine.execute("UNSET 'auto.offset.reset'; UNDEFINE x;"))
    assert (engine.session.properties, engine.session.variables) == ({}, {})
    with RemoteEngine(Address.of(url)) as other, pytest.raises(UserError):
        list(other.execute("SET 'ksql.suppress.enabled' = '${x}';"))


def test_an_error_knows_its_place(engine: RemoteEngine) -> None:
    sql = "SHOW STREAMS;\nSELECT nope FROM ksql_processing_log EMIT CHANGES;"
    results = engine.execute(sql)
    assert isinstance(next(results), Rows)
    with pytest.raises(BindError) as raised:
        next(results)
    assert render(raised.value).splitlines()[:3] == [
        "name error at line 2, column 8: SELECT column 'NOPE' cannot be resolved.",
        "  SELECT nope FROM ksql_processing_log EMIT CHANGES;",
        "         ^^^^",
    ]


class OneRow(OfflineEngine):
    """Answers every statement with a row of scalars."""

    def execute(self, sql: str, session: Session | None = None) -> Iterator[Result]:
        kinds = {
            "K": STRING,
            "N": BIGINT,
            "P": decimal(6, 2),
            "D": DOUBLE,
            "DAY": DATE,
            "X": STRING,
        }
        schema = Schema(tuple(Column(name, kind) for name, kind in kinds.items()))
        row = ("a", 1, Decimal("1.50"), float("inf"), date(2024, 5, 1), None)
        yield Answer("query_1", schema, [Row(row)])


_CONNECT = """
import sys
from streamsql.cli.main import main
code = main(sys.argv[1:])
heavy = ("sqlglot", "lark", "rich", "prompt_toolkit", "pyspark", "confluent_kafka")
print(code, [name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_small_query_of_the_command_line_loads_no_language(tmp_path: Path, output: str) -> None:
    behind = OneRow(tmp_path)
    try:
        with running(behind) as url:
            command = ["connect", url, "-e", "SELECT 1;", "--output", output]
            done = subprocess.run(
                [sys.executable, "-c", _CONNECT, *command],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
    finally:
        behind.offline.close()
    *shown, loaded = done.stdout.splitlines()
    assert loaded == "0 []", done.stderr
    assert "1.50" in "".join(shown) and "2024-05-01" in "".join(shown)


def test_a_script_is_a_file_of_the_client(engine: RemoteEngine, tmp_path: Path) -> None:
    (tmp_path / "inner.sql").write_text("DEFINE b = '2'; RUN SCRIPT '${dir}/empty.sql';")
    (tmp_path / "empty.sql").write_text("-- nothing\n")
    (tmp_path / "wrong.sql").write_text("\nSELCT 1;")
    (tmp_path / "itself.sql").write_text("RUN SCRIPT '${dir}/itself.sql';")
    list(engine.execute(f"DEFINE dir = '{tmp_path}'; RUN SCRIPT '${{dir}}/inner.sql';"))
    assert engine.session.variables == {"DIR": str(tmp_path), "B": "2"}
    with pytest.raises(ParseError) as raised:
        list(engine.execute("RUN SCRIPT '${dir}/wrong.sql';"))
    assert "line 2, column 1" in render(raised.value) and "SELCT 1;" in render(raised.value)
    with pytest.raises(ConfigError, match="runs itself"):
        list(engine.execute("RUN SCRIPT '${dir}/itself.sql';"))
    with pytest.raises(ConfigError, match="cannot read the script"):
        list(engine.execute("RUN SCRIPT '${dir}/missing.sql';"))


def test_the_catalog_is_sent_once(engine: RemoteEngine, url: str) -> None:
    assert "KSQL_PROCESSING_LOG" in engine.catalog().sources
    first = httpx2.get(f"{url}/streamsql/catalog")
    again = httpx2.get(f"{url}/streamsql/catalog", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_the_state_of_the_start_is_known(engine: RemoteEngine) -> None:
    assert engine.startup().ready and engine.queries() == []
    assert engine.version


def test_a_stream_is_cancelled_from_another_thread(
    engine: RemoteEngine, behind: OfflineEngine
) -> None:
    results = engine.execute("SELECT * FROM numbers;")
    stream = next(results)
    assert isinstance(stream, RowStream)
    rows = []

    def read() -> None:
        rows.extend(row.values[0] for row in stream.rows)

    reader = threading.Thread(target=read)
    reader.start()
    await_until(lambda: behind.numbers is not None and behind.numbers.made > 10, "rows come")
    stream.cancel()
    reader.join(20)
    assert not reader.is_alive()
    assert behind.numbers is not None and behind.numbers.ended.wait(20)
    assert rows == list(range(1, len(rows) + 1))


def test_a_slow_client_holds_the_query_back(engine: RemoteEngine, behind: OfflineEngine) -> None:
    results = engine.execute("SELECT * FROM numbers;")
    stream = next(results)
    assert isinstance(stream, RowStream)
    assert next(stream.rows).values[0] == 1
    numbers = behind.numbers
    assert numbers is not None
    seen = -1

    def stands_still() -> bool:
        nonlocal seen
        before, seen = seen, numbers.made
        return before == seen

    await_until(stands_still, "the query is held back", every=0.5)
    assert numbers.made < 50_000
    ahead = [next(stream.rows).values[0] for _ in range(5000)]
    assert ahead == list(range(2, 5002)), "nothing is lost"
    stream.cancel()
    assert numbers.ended.wait(20)


def test_a_client_that_goes_ends_its_query(url: str, behind: OfflineEngine) -> None:
    with httpx2.stream(
        "POST", f"{url}/streamsql/execute", json={"sql": "SELECT * FROM numbers;"}
    ) as response:
        lines = response.iter_lines()
        assert '"row_stream"' in next(lines)
        numbers = behind.numbers
        assert numbers is not None and not numbers.cancelled.is_set()
    assert numbers.ended.wait(20)


def test_a_server_that_goes_is_noticed(tmp_path: Path) -> None:
    engine = OfflineEngine(tmp_path)
    with running(engine) as url:
        client = RemoteEngine(Address.of(url))
        client.start()
        results = client.execute("SELECT * FROM numbers;")
        stream = next(results)
        assert isinstance(stream, RowStream)
        next(stream.rows)
    with pytest.raises(ExternalError, match="the server has ended the query"):
        for _ in stream.rows:
            pass
    with pytest.raises(ExternalError, match="cannot reach") as raised:
        list(client.execute("SHOW STREAMS;"))
    assert raised.value.retryable
    client.close()
    engine.offline.close()


def test_no_server() -> None:
    with pytest.raises(ExternalError, match="cannot reach http://127.0.0.1:1: connection refused"):
        RemoteEngine(Address.of("127.0.0.1:1")).start()


def test_a_closed_connection_says_so(url: str) -> None:
    engine = RemoteEngine(Address.of(url))
    with pytest.raises(ConfigError, match="the connection is closed"):
        list(engine.execute("SHOW STREAMS;"))


def test_users_and_passwords(behind: OfflineEngine, tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "ann", Role.ADMIN, "secret")
    add_user(users, "rob", Role.READ_ONLY, "secret")
    with running(behind, ServerConfig(users_file=users)) as url:
        with RemoteEngine(Address.of(url, "ann", "secret")) as engine:
            assert [type(r) for r in engine.execute("SHOW STREAMS;")] == [Rows]
        with RemoteEngine(Address.of(url, "rob", "secret")) as reader:
            assert [type(r) for r in reader.execute("SHOW STREAMS;")] == [Rows]
            with pytest.raises(UserError, match="requires the role developer"):
                list(reader.execute("CREATE TYPE t AS INT;"))
        with pytest.raises(ConfigError, match="rejected the user ann"):
            RemoteEngine(Address.of(url, "ann", "wrong")).start()
        with pytest.raises(ConfigError, match="rejected requests without a user"):
            RemoteEngine(Address.of(url)).start()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"sql": 1}', b'{"sql": "SHOW STREAMS;", "properties": []}']
)
def test_a_malformed_request_is_refused(url: str, body: bytes) -> None:
    answer = httpx2.post(f"{url}/streamsql/execute", content=body)
    assert answer.status_code == 400
    assert answer.json()["message"]
