"""JSON client for REST services (Kafka Connect) with basic authentication. Clients interpret the
responses."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import IO, Any

from streamsql.errors import ConfigError, ExternalError

TIMEOUT_SECONDS = 15.0
MAX_BYTES = 16 << 20
"""Size limit of a response."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, which would send the Authorization header to another host."""

    def redirect_request(self, *_: object) -> None:
        """Returns the redirect as a response."""


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())
"""Sends requests directly, ignoring proxies of the environment."""


@dataclass(frozen=True)
class RestService:
    """A REST service; `name` is its name in errors: `Kafka Connect`."""

    name: str
    url: str
    user: str | None = None
    """`name:password` for basic authentication."""

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Returns status and content of any response; raises ExternalError without one."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.rstrip("/") + path, data, method=method)
        request.add_header("Accept", "application/json")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self.user is not None:
            token = base64.b64encode(self.user.encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        try:
            with _OPENER.open(request, timeout=TIMEOUT_SECONDS) as response:
                return int(response.status), self._content(response)
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            raise ExternalError(
                f"no answer from {self.name} at {self.url}", retryable=True, detail=str(error)
            ) from error

    def _refused(self, error: urllib.error.HTTPError) -> tuple[int, Any]:
        if (target := error.headers.get("Location")) is not None and 300 <= error.code < 400:
            raise ExternalError(
                f"{self.name} at {self.url} redirects to {target}",
                hint="Give the URL that answers: credentials are sent to no other.",
            )
        return error.code, self._content(error)

    def _content(self, response: IO[bytes]) -> Any:
        text = response.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ExternalError(
                f"the answer of {self.name} at {self.url} is larger than {MAX_BYTES >> 20} MiB"
            )
        return _json(text)


def check_service_url(url: str, service: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"not the URL of {service}: {url}", hint="It begins with http://")
    return url


def quoted(part: str) -> str:
    return urllib.parse.quote(part, safe="")


def _json(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return {"message": text.decode(errors="replace")}
