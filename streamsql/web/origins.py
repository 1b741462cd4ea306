"""Policy for requests of browsers.

A browser sends requests for any page that it displays, also to internal servers and with saved
passwords. Pages cannot forge the headers that name the server (`Host`) and the page (`Origin`,
`Sec-Fetch-Site`):

- `Host` must be a name of this server. A page can resolve its own name to our address (DNS
rebinding); its requests then appear to have the same origin.
- Requests that may change something, and WebSockets, must come from a page of this server, or from
a trusted origin. Other programs send neither header.
- A POST of a browser must have a content type that forms do not have: only then does the browser
send a preflight request.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starlette.types import Scope

from streamsql.errors import ConfigError

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods without side effects; other pages cannot read the responses."""
FORMS = frozenset({"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""Content types that a page may send to other origins without a preflight request."""
ANY = "*"
FORBIDDEN, UNSUPPORTED_MEDIA_TYPE, MISDIRECTED = 403, 415, 421
_HOST = re.compile(r"(?P<name>[\w.\-]+|\[[0-9a-f:.]+\])(:\d*)?", re.ASCII | re.IGNORECASE)
_PATTERN = re.compile(r"(\*\.)?[\w\-]+(\.[\w\-]+)*", re.ASCII)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.\-]*://[^/?#@\s]+", re.ASCII)
_ASKED = frozenset({b"host", b"origin", b"sec-fetch-site", b"content-type"})
_SHOWN = 200
"""Number of characters of a header in a message."""


@dataclass(frozen=True)
class Refusal:
    """A rejection: HTTP status, message, and hint."""

    status: int
    message: str
    hint: str


class AllowedHosts:
    """The names of a server: this machine's, the listen address, and `more`: names, addresses, or
    `*.example.org` for all subdomains. A server that listens on all addresses accepts any of them,
    since an address cannot be rebound."""

    def __init__(self, listening: str = "127.0.0.1", more: Iterable[str] = ()) -> None:
        """Raises ConfigError for an invalid name in `more`."""
        given = [allowed_host(text) for text in more]
        own = _address(listening)
        self._any_address = own is not None and own.is_unspecified
        self._names = {"localhost", "127.0.0.1", "::1", listening.lower()}
        self._names |= {text for text in given if not text.startswith("*.")}
        self._below = tuple(text[1:] for text in given if text.startswith("*."))

    def __contains__(self, host: str) -> bool:
        """Whether a Host header, with or without port, is allowed."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found["name"].lower().strip("[]").removesuffix(".")
        if name in self._names or name.endswith(self._below):
            return True
        address = _address(name)
        return address is not None and (self._any_address or address.is_loopback)


@dataclass(frozen=True)
class Policy:
    """The policy of a server. `origins` are the trusted ones; `*` allows all, except for
    WebSockets, which have no preflight request."""

    hosts: AllowedHosts
    origins: frozenset[str] = frozenset()

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is rejected, by its ASGI scope (http or websocket)."""
        headers = _headers(scope)
        host, origin = headers.get(b"host", ""), headers.get(b"origin", "")
        of_browser = b"origin" in headers or b"sec-fetch-site" in headers
        # Some health checks use HTTP/1.0 without a Host; browsers do not.
        if host not in self.hosts and (host or of_browser):
            return Refusal(
                MISDIRECTED,
                f"{_quoted(host)} is not a name of this server",
                "The option --allowed-host of `streamsql server` adds one.",
            )
        is_socket = scope["type"] == "websocket"
        if not of_browser or (not is_socket and scope["method"] in SAFE):
            return None
        own = is_own(headers.get(b"sec-fetch-site", ""), origin, host)
        if not (own or self._trusts(origin, is_socket)):
            return Refusal(
                FORBIDDEN,
                f"a page of another origin ({_quoted(origin)}) may not use this server",
                "The option --cors-origin of `streamsql server` trusts the pages of an origin.",
            )
        return None if is_socket else _form(scope["method"], headers)

    def _trusts(self, origin: str, is_socket: bool) -> bool:
        return origin in self.origins or (ANY in self.origins and not is_socket)


def is_own(site: str, origin: str, host: str) -> bool:
    """Whether a request comes from this server's pages, or from no page (a typed address), by the
    headers Sec-Fetch-Site, Origin and Host; empty if absent."""
    if site:
        return site in ("same-origin", "none")
    # An older browser, or one without TLS. The scheme may differ behind a proxy, so only the rest
    # is compared.
    return origin.partition("://")[2].lower() == host.lower()


def _form(method: str, headers: Mapping[bytes, str]) -> Refusal | None:
    given = headers.get(b"content-type", "")
    if method != "POST" or given.partition(";")[0].strip().lower() not in FORMS:
        return None
    return Refusal(
        UNSUPPORTED_MEDIA_TYPE,
        f"Unsupported Media Type: {_quoted(given)}",
        "A browser's request says that it is JSON: Content-Type: application/json.",
    )


def _headers(scope: Scope) -> dict[bytes, str]:
    """The requested headers; a duplicated header matches nothing."""
    found: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        name = name.lower()
        if name in _ASKED:
            text = value.decode("latin-1").strip()
            found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _quoted(value: str) -> str:
    return repr(value[:_SHOWN]) if value else "none given"


def allowed_host(text: str) -> str:
    """A name, an address or `*.NAME` in normalized form; ConfigError otherwise."""
    name = text.strip().strip("[]").lower().removesuffix(".")
    if _PATTERN.fullmatch(name) or _address(name):
        return name
    raise ConfigError(
        f"{text} is not a host",
        hint="A name or an address without scheme and port, such as streamsql.example.org, or "
        "*.example.org for all names below one.",
    )


def trusted_origin(text: str) -> str:
    """An origin in the form of browsers, or `*`; ConfigError otherwise."""
    origin = text.strip().lower().rstrip("/")
    if origin == ANY or _ORIGIN.fullmatch(origin):
        return origin
    raise ConfigError(
        f"{text} is not an origin", hint="A scheme and a host, such as https://app.example.org."
    )
