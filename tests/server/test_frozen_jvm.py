"""The server while its JVM stands still: whatever waits for the JVM, the event loop does not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import pytest
from awaiting import await_until
from server.live import SECONDS, LiveServer

from streamsql.engine import Engine
from streamsql.serving import lookups

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
LOOKUP = "SELECT n FROM counts WHERE sensor = '{}';"


@contextmanager
def frozen(engine: Engine) -> Iterator[None]:
    """Within the block the JVM gets no processor."""
    runtime = engine._state.services.spark.get()
    assert runtime._process is not None
    os.kill(runtime._process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(runtime._process.pid, signal.SIGCONT)


def _lookup(server: LiveServer, key: str) -> httpx2.Response:
    return httpx2.post(f"{server.url}/query", json={"ksql": LOOKUP.format(key)}, timeout=SECONDS)


@pytest.mark.parametrize("filling", [False, True])
def test_others_are_answered(
    server: LiveServer, filling: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "ANSWER_SECONDS", 1.0, raising=False)
    # The first of its shape is prepared, so that others may take the short way.
    await_until(lambda: '"columns":[2]' in _lookup(server, "a").text, "a's count", SECONDS)
    serving = server.engine._state.serving
    table = serving.stores.peek(server.engine.catalog().get("COUNTS"))
    assert table is not None
    if filling:
        monkeypatch.setattr(table, "complete", False, raising=False)
        monkeypatch.setattr(table, "_was_complete", False, raising=False)
    with ThreadPoolExecutor() as clients:
        with frozen(server.engine):
            asked = [clients.submit(_lookup, server, key) for key in "aba"]
            for path in ("/chc/live", "/chc/ready", "/is_valid_property/auto.offset.reset"):
                answer = httpx2.get(f"{server.url}{path}", timeout=5)
                assert answer.status_code == 200
        answers = [each.result(SECONDS) for each in asked]
    for answer in answers:
        assert answer.status_code in (200, 503)
        if answer.status_code == 503:
            assert answer.headers["retry-after"]
    assert _lookup(server, "b").status_code == 200


def test_a_lookup_has_a_deadline(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = server.engine._state.serving._channel
    connected = [False]
    get = channel.get

    def noted() -> object:
        found = get()
        connected[0] |= found is not None
        return found

    monkeypatch.setattr(channel, "get", noted)
    await_until(lambda: _lookup(server, "a").is_success and connected[0], "a channel", SECONDS)
    monkeypatch.setattr(lookups, "ANSWER_SECONDS", 0.5, raising=False)
    with frozen(server.engine):
        answer = httpx2.post(f"{server.url}/query", json={"ksql": LOOKUP.format("a")}, timeout=10)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert "COUNTS has not answered" in answer.json()["message"]
    assert _lookup(server, "b").status_code == 200
