"""When failed tasks are restarted."""

from __future__ import annotations

from streamsql.connectors.client import Connector, Task
from streamsql.connectors.embedded.restarts import STABLE_SECONDS, Failures, Restarts

TRACE = """ConnectException: Exiting
\tat Worker.run
Caused by: java.net.ConnectException: refused
\tat Socket.open"""


def connector(state: str, trace: str | None = None) -> Connector:
    tasks = (Task(0, "RUNNING"), Task(1, state, trace))
    return Connector("c", "sink", "Sink", "RUNNING", "w", tasks)


FAILED, RUNNING = [connector("FAILED", TRACE)], [connector("RUNNING")]


def test_the_delay_grows_with_each_failure_and_ends_with_a_stable_run() -> None:
    restarts, delays, now = Restarts(), list[float](), 0.0
    for _ in range(12):
        assert list(restarts.due(FAILED, now)) == []
        failures = restarts.of("c")
        assert failures is not None and failures.restarts_at is not None
        assert failures.cause == "java.net.ConnectException: refused"
        delays.append(failures.restarts_at - now)
        assert list(restarts.due(FAILED, failures.restarts_at - 0.1)) == []
        now = failures.restarts_at
        assert list(restarts.due(FAILED, now)) == ["c"]
        restarts.restarted("c", now)
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert list(restarts.due(RUNNING, now + STABLE_SECONDS)) == []
    assert restarts.of("c") == Failures(12, "java.net.ConnectException: refused", now, None)
    assert list(restarts.due(RUNNING, now + STABLE_SECONDS + 1)) == []
    assert restarts.of("c") is None


def test_a_restart_that_is_refused_is_repeated() -> None:
    restarts = Restarts()
    list(restarts.due(FAILED, 0))
    assert list(restarts.due(FAILED, 1)) == list(restarts.due(FAILED, 3)) == ["c"]


def test_a_connector_that_failed_as_a_whole() -> None:
    restarts = Restarts()
    failed = Connector("c", "sink", "Sink", "FAILED", "w", (), "Error: no")
    list(restarts.due([failed], 0))
    assert restarts.of("c") == Failures(1, "Error: no", 0, 1)


def test_restarts_by_others_and_dropped_connectors() -> None:
    restarts = Restarts()
    list(restarts.due(FAILED, 0))
    list(restarts.due(RUNNING, 0.5))
    assert restarts.of("c") == Failures(1, "java.net.ConnectException: refused", 0.5, None)
    list(restarts.due([], 2))
    assert restarts.of("c") is None
