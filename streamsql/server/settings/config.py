"""Settings of a server; EngineConfig has those of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from streamsql.errors import ConfigError

DEFAULT_PORT = 8088


@dataclass(frozen=True)
class ServerConfig:
    """Addresses and limits of a server; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    service_id: str = "default_"
    advertised_url: str | None = None
    """URL for other servers and clients; None: derived from host and port."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    """Authorities of client certificates, which are then required."""
    max_request_bytes: int = 10 * 1024 * 1024
    max_statement_bytes: int = 1024 * 1024
    """For requests with statements, whose parsing is slow."""
    max_push_queries: int = 100
    """Concurrent push queries and PRINTs."""
    push_buffer_rows: int = 1000
    """Buffered rows of a push query; the rest waits in Kafka."""
    threads: int = 64
    """Concurrent statements, without push queries."""
    stop_seconds: float = 10.0
    users_file: Path | None = None
    """Users file; None: unrestricted access."""
    allowed_hosts: tuple[str, ...] = ()
    """Additional host names of this server."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Proxies whose X-Forwarded-For identifies the client."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may use the server; `*` for all."""
    max_requests_per_second: float | None = None
    """Per user, or per address without users."""
    scripts: Path | None = None
    """Folder of the console's scripts; None: disabled."""
    access_log: bool = False
    """Logs every request instead of failures only."""

    @property
    def url(self) -> str:
        scheme = "https" if self.tls_cert else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.advertised_url or f"{scheme}://{host}:{self.port}"


def listen_address(text: str) -> tuple[str, int]:
    """Parses `HOST`, `HOST:PORT`, `:PORT`, `[V6]:PORT` or `http://HOST:PORT`; ConfigError
    otherwise."""
    given = text.strip()
    for scheme in ("http://", "https://"):
        given = given.removeprefix(scheme)
    given = given.rstrip("/")
    host, colon, port = given.rpartition(":")
    if not colon or given.endswith("]"):
        host, port = given, str(DEFAULT_PORT)
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"invalid listen address {text}", hint="Use HOST:PORT.")
    return host.strip("[]") or "0.0.0.0", int(port)
