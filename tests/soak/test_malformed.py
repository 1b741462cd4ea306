"""Ten thousand malformed requests against a server with all behind it: no bug shows, and its memory
stays what it was."""

from __future__ import annotations

from pathlib import Path

import httpx2
import psutil
import pytest
from soak.server_process import ServerProcess

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka]

REQUESTS, WARM_UP = 10_000, 50
PER_OPERATION = 250
GROWTH_BYTES = 50 * 1024 * 1024


def test_ten_thousand_malformed_requests(tmp_path: Path) -> None:
    # What makes them takes a second to import, in every process that collects tests.
    import schemathesis
    from server.malformed import ask

    server = ServerProcess(tmp_path)
    server.start()
    try:
        server.await_ready()
        process = psutil.Process(server.pid)
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        asked = ask(schema, WARM_UP)
        before = process.memory_info().rss
        while asked < REQUESTS:
            asked += ask(schema, PER_OPERATION)
        assert process.memory_info().rss - before < GROWTH_BYTES
        assert httpx2.get(f"{server.url}/chc/ready").status_code == 200
        assert "Traceback" not in server.log.read_text()
    finally:
        server.kill()
