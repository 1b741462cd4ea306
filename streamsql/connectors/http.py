"""JSON client for REST services (Kafka Connect) with basic authentication. Clients interpret the
responses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from streamsql.errors import ConfigError, ExternalError

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 15.0
MAX_BYTES = 16 << 20
"""Size limit of a response."""


@dataclass(frozen=True)
class RestService:
    """A REST service; `name` is its name in errors: `Kafka Connect`."""

    name: str
    url: str
    user: str | None = None
    """`name:password` for basic authentication."""

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Returns status and content of any response; raises ExternalError without one. Proxies of
        the environment are ignored, and redirects are not followed."""
        import ssl

        import httpx2

        name, _, password = (self.user or "").partition(":")
        auth = None if self.user is None else (name, password)
        url, headers = self.url.rstrip("/") + path, {"Accept": "application/json"}
        trusted = ssl.create_default_context()
        try:
            with (
                httpx2.Client(timeout=TIMEOUT_SECONDS, verify=trusted, trust_env=False) as client,
                client.stream(method, url, json=body, auth=auth, headers=headers) as response,
            ):
                return response.status_code, self._content(response)
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise ExternalError(
                f"no answer from {self.name} at {self.url}", retryable=True, detail=str(error)
            ) from error

    def _content(self, response: httpx2.Response) -> Any:
        if response.has_redirect_location:
            raise ExternalError(
                f"{self.name} at {self.url} redirects to {response.headers['Location']}",
                hint="Give the URL that answers: credentials are sent to no other.",
            )
        text = b""
        for piece in response.iter_bytes():
            text += piece
            if len(text) > MAX_BYTES:
                raise ExternalError(
                    f"the answer of {self.name} at {self.url} is larger than {MAX_BYTES >> 20} MiB"
                )
        try:
            return json.loads(text) if text else None
        except ValueError:
            return {"message": text.decode(errors="replace")}


def check_service_url(url: str, service: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"not the URL of {service}: {url}", hint="It begins with http://")
    return url


def quoted(part: str) -> str:
    return quote(part, safe="")
