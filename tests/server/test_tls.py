"""HTTPS: the real HTTP server over an engine that need not run for what is asked here."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import trustme
from awaiting import await_until
from ports import free_port

from streamsql.engine import Engine, EngineConfig
from streamsql.roles import Role
from streamsql.server.run import serve
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.server_state import ServerState
from streamsql.users.accounts import add_user

SECONDS = 30.0
AUTH = ("ann", "secret")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of the server, one of a client, who signed them, and a user."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    for name, issued in (
        ("server", authority.issue_cert("127.0.0.1")),
        ("client", authority.issue_cert("ann@example.org")),
    ):
        issued.private_key_pem.write_to_path(str(folder / f"{name}.key"))
        chain = b"".join(blob.bytes() for blob in issued.cert_chain_pems)
        (folder / f"{name}.pem").write_bytes(chain)
    add_user(folder / "users", AUTH[0], Role.READ_ONLY, AUTH[1])
    return folder


@contextmanager
def running(config: ServerConfig, data: Path) -> Iterator[str]:
    """The URL of a server in a thread of its own."""
    engine = Engine(EngineConfig(data_dir=data))
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    work = serve(ServerState(engine, config), stop=stop)
    thread = threading.Thread(target=loop.run_until_complete, args=(work,))
    thread.start()
    try:
        await_until(lambda: _listens(config.port), "the server listens", SECONDS)
        yield config.url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(SECONDS)
        loop.close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "ca.pem"))


def test_https_with_a_login(folder: Path, tmp_path: Path) -> None:
    config = ServerConfig(
        port=free_port(),
        tls_cert=folder / "server.pem",
        tls_key=folder / "server.key",
        users_file=folder / "users",
    )
    with running(config, tmp_path) as url:
        assert url.startswith("https://")
        with httpx2.Client(base_url=url, verify=trusting(folder), auth=AUTH) as client:
            assert client.get("/info").json()["KsqlServerInfo"]["serverStatus"] == "STARTING"
            metrics = client.get("/metrics").text
            assert "streamsql_ready 0.0" in metrics
            assert 'streamsql_http_requests_total{method="GET",path="/info",status="200"} 1.0' in (
                metrics
            )
            assert client.get("/info", auth=("ann", "wrong")).status_code == 401
            assert client.post("/inserts-stream", content=b"{}").status_code == 403
        with pytest.raises(httpx2.ConnectError, match="certificate verify failed"):
            httpx2.get(f"{url}/info")
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"http://127.0.0.1:{config.port}/info")


def test_certificates_of_clients(folder: Path, tmp_path: Path) -> None:
    config = ServerConfig(
        port=free_port(),
        tls_cert=folder / "server.pem",
        tls_key=folder / "server.key",
        tls_client_ca=folder / "ca.pem",
    )
    with running(config, tmp_path) as url:
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"{url}/info", verify=trusting(folder))
        known = trusting(folder)
        known.load_cert_chain(str(folder / "client.pem"), str(folder / "client.key"))
        assert httpx2.get(f"{url}/info", verify=known).status_code == 200
