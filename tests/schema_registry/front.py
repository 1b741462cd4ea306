"""A front before a schema registry, as companies have them: TLS, certificates of clients, a login,
and the endpoint that gives tokens."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

PASSWORD = "pass word"
CLIENT = ("the client", "its secret")


class Front(ThreadingHTTPServer):
    """Lets through what has the `authorization`, to the registry at `upstream`."""

    daemon_threads = True

    def __init__(self, upstream: str, authorization: str | None, tls: ssl.SSLContext | None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.authorization = authorization
        self.tokens: list[dict[str, str]] = []
        """What the token endpoint was asked."""
        self.seen: list[dict[str, str]] = []
        """The headers of requests to the registry."""
        self.lifetime = 3600
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that is refused is what tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: Front

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/token":
            self._token(body.decode())
            return
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        wanted = self.server.authorization
        if wanted is not None and self.headers.get("Authorization") != wanted:
            self._send(401, b'{"error_code": 401, "message": "who are you?"}')
            return
        request = urllib.request.Request(
            self.server.upstream + self.path, body or None, method=self.command
        )
        for name in ("Content-Type", "Accept"):
            if name in self.headers:
                request.add_header(name, self.headers[name])
        try:
            with urllib.request.urlopen(request) as found:
                self._send(found.status, found.read())
        except urllib.error.HTTPError as error:
            with error:
                self._send(error.code, error.read())

    do_GET = do_POST = do_DELETE = _answer

    def _token(self, body: str) -> None:
        asked = {
            "authorization": self.headers["Authorization"],
            **dict(urllib.parse.parse_qsl(body)),
        }
        self.server.tokens.append(asked)
        if asked["authorization"] != basic(":".join(CLIENT)):
            self._send(401, b'{"error": "invalid_client"}')
            return
        token = f"token {len(self.server.tokens)}".replace(" ", "-")
        self.server.authorization = f"Bearer {token}"
        granted = {"access_token": token, "token_type": "Bearer"}
        self._send(200, json.dumps({**granted, "expires_in": self.server.lifetime}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """To no client."""


@contextmanager
def front(
    upstream: str, authorization: str | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[Front]:
    server = Front(upstream, authorization, tls)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def basic(user: str) -> str:
    return "Basic " + base64.b64encode(user.encode()).decode()


class Certificates:
    """An authority, and what it has signed, as PEM files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.ca = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca))
        self._server = self._authority.issue_cert("127.0.0.1")
        client = self._authority.issue_cert("ann@example.org")
        key = serialization.load_pem_private_key(client.private_key_pem.bytes(), None)
        chain = b"".join(blob.bytes() for blob in client.cert_chain_pems)
        none, best = serialization.NoEncryption(), serialization.BestAvailableEncryption
        pkcs8, old = (
            serialization.PrivateFormat.PKCS8,
            serialization.PrivateFormat.TraditionalOpenSSL,
        )

        def written(name: str, *parts: bytes) -> Path:
            path = folder / name
            path.write_bytes(b"".join(parts))
            return path

        def pem(
            form: serialization.PrivateFormat, how: serialization.KeySerializationEncryption
        ) -> bytes:
            return key.private_bytes(serialization.Encoding.PEM, form, how)

        self.certificate = written("client.pem", chain)
        self.key = written("client.key", pem(pkcs8, none))
        self.both = written("both.pem", pem(pkcs8, none), chain)
        self.locked_key = written("locked.key", pem(pkcs8, best(PASSWORD.encode())))
        self.old_key = written("old.key", pem(old, none))

    def server(self, *, of_clients: bool = True) -> ssl.SSLContext:
        """The server's side of TLS; it asks clients for a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server.configure_cert(context)
        if of_clients:
            self._authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context
