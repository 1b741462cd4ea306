"""HTTP to one server, with the standard library alone: a shell must be there in no time.

Connections are kept for the next request. A stream of lines can be closed from any thread, which
is how a query is ended.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import select
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from streamsql.errors import ConfigError, ExternalError, StreamSQLError

if TYPE_CHECKING:
    import ssl

DELIMITED = "application/vnd.ksqlapi.delimited.v1"
"""JSON values, each in a line of its own."""
DEFAULT_PORT = 8088
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0
"""How long a server may say nothing; it sends a sign of life every few seconds."""
_KEPT = 4


@dataclass(frozen=True)
class Address:
    """Address and user of a server; `path` is the prefix of its paths."""

    scheme: str
    host: str
    port: int
    path: str = ""
    user: str | None = None
    password: str | None = None
    ca_file: Path | None = None
    """Certificates to trust instead of the system's."""

    @staticmethod
    def of(
        url: str,
        user: str | None = None,
        password: str | None = None,
        ca_file: Path | None = None,
    ) -> Address:
        """From `https://host:port`, `host` or `host:port`; ConfigError for anything else."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ConfigError(
                f"{url} is not the address of a server", hint="For example http://localhost:8088."
            )
        if port is None:
            default = 443 if parts.scheme == "https" else 80
            port = default if "://" in url else DEFAULT_PORT
        user = user or (unquote(parts.username) if parts.username else None)
        password = password or (unquote(parts.password) if parts.password else None)
        path = parts.path.rstrip("/")
        return Address(parts.scheme, parts.hostname, port, path, user, password, ca_file)

    @property
    def url(self) -> str:
        """Without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


@dataclass(frozen=True)
class Reply:
    """A whole answer; `body` None: nothing has changed since the `etag` that was asked with."""

    body: Any | None
    etag: str | None


class Lines:
    """An answer that comes line by line, each a JSON value."""

    def __init__(
        self, transport: Transport, connection: Connection, response: http.client.HTTPResponse
    ) -> None:
        self._transport = transport
        self._connection = connection
        self._response = response
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        """The values until the answer is closed; ExternalError if it breaks off before."""
        while True:
            try:
                line = self._response.readline()
            except (OSError, ValueError, AttributeError, http.client.HTTPException) as error:
                # A connection that another thread has closed fails in any of these ways.
                if self._closed.is_set():
                    return
                raise self._transport.lost(error) from error
            if self._closed.is_set():
                return
            if not line.endswith(b"\n"):
                raise self._transport.lost(None)
            yield json.loads(line)

    def finish(self) -> None:
        """The last line has been read: the connection can serve another request."""
        try:
            rest = self._response.read()
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            rest = b"?"
        if rest or self._closed.is_set():
            self.close()
        else:
            self._transport.keep(self._connection, self._response)

    def close(self) -> None:
        """Closes the response from any thread, which the server detects."""
        self._closed.set()
        # A reader holds the response until this wakes it.
        self._connection.abort()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._response.close()
        self._connection.close()


class Connection:
    """One connection, whose socket can be closed independently of the response."""

    def __init__(self, address: Address) -> None:
        if address.scheme == "https":
            self.http: http.client.HTTPConnection = http.client.HTTPSConnection(
                address.host, address.port, timeout=CONNECT_SECONDS, context=_tls(address.ca_file)
            )
        else:
            self.http = http.client.HTTPConnection(
                address.host, address.port, timeout=CONNECT_SECONDS
            )
        self._socket: socket.socket | None = None

    def connect(self) -> None:
        """Opens the connection; OSError on failure."""
        self.http.connect()
        self._socket = self.http.sock
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(SILENCE_SECONDS)

    @property
    def usable(self) -> bool:
        """Whether the server has kept it open, and has said nothing on it."""
        if self._socket is None or self._socket.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """Wakes the reader, and closes."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.http.close()


class Transport:
    """Requests to one server; may be used from several threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        self._headers = {"User-Agent": "streamsql"}
        if address.user is not None:
            pair = f"{address.user}:{address.password or ''}".encode()
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()

    def get(self, path: str, etag: str | None = None) -> Reply:
        """A whole JSON document; with an `etag`, only if it has changed since."""
        headers = {"Accept": "application/json", **({"If-None-Match": etag} if etag else {})}
        connection, response = self._send("GET", path, headers)
        try:
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self.lost(error) from error
        self.keep(connection, response)
        if response.status == 304:
            return Reply(None, etag)
        if response.status != 200:
            raise self._refused(response.status, body)
        return Reply(self._json(body), response.headers.get("ETag"))

    def stream(self, path: str, body: Mapping[str, Any]) -> Lines:
        """Post a JSON document, and the lines of the answer as they come."""
        headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
        return self._post(path, headers, json.dumps(body).encode())

    def _post(self, path: str, headers: Mapping[str, str], body: bytes) -> Lines:
        connection, response = self._send("POST", path, headers, body)
        if response.status != 200:
            refusal = response.read()
            self.keep(connection, response)
            raise self._refused(response.status, refusal)
        return Lines(self, connection, response)

    def post_lines(self, path: str, lines: Iterable[Any]) -> Lines:
        """Post JSON values, each in a line of its own, and the lines of the answer as they come."""
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        headers = {"Content-Type": DELIMITED, "Accept": DELIMITED}
        return self._post(path, headers, body)

    def keep(self, connection: Connection, response: http.client.HTTPResponse) -> None:
        """Returns a connection to the pool after its response has been read."""
        if response.will_close or not connection.usable:
            connection.close()
            return
        with self._lock:
            if len(self._idle) < _KEPT and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections that are idle, and each of the others once it is done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def lost(self, cause: Exception | None) -> ExternalError:
        """The error of an answer that broke off."""
        if isinstance(cause, TimeoutError):
            return ExternalError(f"{self.address.url} does not answer any more", retryable=True)
        return ExternalError(f"the connection to {self.address.url} was lost", retryable=True)

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> tuple[Connection, http.client.HTTPResponse]:
        connection = self._connection()
        try:
            all_headers = {**self._headers, **headers}
            connection.http.request(method, self.address.path + path, body, all_headers)
            return connection, connection.http.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self.lost(error) from error

    def _connection(self) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if connection.usable:
                return connection
            connection.close()
        connection = Connection(self.address)
        try:
            connection.connect()
        except OSError as error:
            raise self._unreachable(error) from None
        return connection

    def _unreachable(self, error: OSError) -> ExternalError:
        reason = error.strerror or str(error) or type(error).__name__
        return ExternalError(
            f"cannot reach {self.address.url}: {reason.lower()}",
            retryable=True,
            hint="Is a server running there? `streamsql server` starts one.",
        )

    def _refused(self, status: int, body: bytes) -> StreamSQLError:
        message = _message(body)
        who = f"the user {self.address.user}" if self.address.user else "requests without a user"
        if status == 401:
            return ConfigError(
                f"{self.address.url} rejected {who}",
                hint="Name a user: -u USER in the shell, `user` in Python and in a profile of dbt."
                if self.address.user is None
                else "The user or the password is wrong.",
            )
        if status == 404 and message is None:
            return ExternalError(f"{self.address.url} is not a streamsql server")
        text = message or f"{self.address.url} answered with status {status}"
        if status in (429, 503):
            return ExternalError(text, retryable=True)
        return ExternalError(text) if status >= 500 or status == 404 else ConfigError(text)

    def _json(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except ValueError:
            raise ExternalError(f"{self.address.url} is not a streamsql server") from None


def _message(body: bytes) -> str | None:
    try:
        message = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return str(message)


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    except OSError as error:
        raise ConfigError(f"cannot use the certificates of {ca_file}: {error}") from None
