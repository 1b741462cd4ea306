"""What a server is told when it is started; the engine's own settings are in EngineConfig."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from streamsql.errors import ConfigError

DEFAULT_PORT = 8088


@dataclass(frozen=True)
class ServerConfig:
    """Addresses and bounds of one server; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    service_id: str = "default_"
    advertised_url: str | None = None
    """How other servers and clients reach this one; None: from host and port."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    """Who signs the certificates of clients; without one of them nobody gets in."""
    max_request_bytes: int = 10 * 1024 * 1024
    max_statement_bytes: int = 1024 * 1024
    """Of a request with statements: parsing them takes long."""
    max_push_queries: int = 100
    """Push queries (and PRINTs) that may run at one time."""
    push_buffer_rows: int = 1000
    """Rows of a push query that may wait for its client; the rest waits in Kafka."""
    threads: int = 64
    """Statements that may be at work at one time, push queries not counted."""
    stop_seconds: float = 10.0
    users_file: Path | None = None
    """Of those who may use the server; None: everybody may, for everything."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that clients may ask for this server by, besides those that it knows itself."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Proxies whose X-Forwarded-For names the clients."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may use the server from a browser; `*` for all."""
    max_requests_per_second: float | None = None
    """Of one user, or of one address without users."""
    scripts: Path | None = None
    """The folder of the files that the console opens and saves; None: it does not."""
    access_log: bool = False
    """Whether every request is logged, not only those that fail."""

    @property
    def url(self) -> str:
        """Where the server is reached, as it was told to listen."""
        scheme = "https" if self.tls_cert else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.advertised_url or f"{scheme}://{host}:{self.port}"


def listen_address(text: str) -> tuple[str, int]:
    """Host and port of `HOST`, `HOST:PORT`, `:PORT`, `[V6]:PORT` or `http://HOST:PORT`.

    ConfigError for anything else.
    """
    given = text.strip()
    for scheme in ("http://", "https://"):
        given = given.removeprefix(scheme)
    given = given.rstrip("/")
    host, colon, port = given.rpartition(":")
    if not colon or given.endswith("]"):
        host, port = given, str(DEFAULT_PORT)
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{text} is not an address to listen on", hint="Use HOST:PORT.")
    return host.strip("[]") or "0.0.0.0", int(port)
