"""What is sent to a REST service goes to that service alone, and its answers have an end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from streamsql.connectors import http
from streamsql.connectors.http import RestService
from streamsql.errors import ExternalError


class Service(HTTPServer):
    """Answers every request in one way, and remembers what it was sent."""

    def __init__(self, status: int = 200, body: bytes = b"[]", location: str | None = None) -> None:
        self.asked: list[tuple[str, str | None]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.asked.append((self.path, self.headers.get("Authorization")))
                self.send_response(status)
                if location is not None:
                    self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    thread = threading.Thread(target=service.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


def connect(service: Service) -> RestService:
    return RestService("Kafka Connect", service.url, "me:secret")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_credentials_follow_no_redirect(method: str, status: int) -> None:
    with serving(Service()) as other, serving(Service(status, location=other.url)) as service:
        with pytest.raises(ExternalError, match=f"redirects to {other.url}"):
            connect(service).request(method, "/connectors", {} if method == "POST" else None)
        assert len(service.asked) == 1 and other.asked == []


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Service()) as proxy, serving(Service()) as service:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert connect(service).request("GET", "/connectors") == (200, [])
        assert proxy.asked == []
        assert service.asked == [("/connectors", "Basic bWU6c2VjcmV0")]


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_an_end_is_not_read_whole(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 1 << 20, raising=False)
    endless = Service(status, b"[" + b" " * (2 << 20) + b"]")
    too_large = pytest.raises(ExternalError, match="is larger than 1 MiB")
    with serving(endless), too_large:
        connect(endless).request("GET", "/connectors")
    with serving(Service(404, b'{"message": "no"}')) as service:
        assert connect(service).request("GET", "/connectors") == (404, {"message": "no"})
