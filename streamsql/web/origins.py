"""Which requests a browser may bring: what it says of a request, against what the server allows.

A browser sends requests for any page that it shows, also to servers that only this machine reaches
and with passwords that it knows. It cannot be kept from naming, by headers that no page can forge,
the server that it believes to ask (`Host`) and the page that asks (`Origin`, `Sec-Fetch-Site`):

- `Host` must be a name of this server. A page can have its own name resolve to our address (DNS
  rebinding); all it sends then looks as if it were of the same origin.
- What may change something, and a WebSocket, must come from a page of this server, or from one
  whose origin is trusted. Programs other than browsers send neither of the two headers.
- A POST of a browser must have a content type that no form has, for only then the browser asks
  first whether another origin may send it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starlette.types import Scope

from streamsql.errors import ConfigError

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing here; what they answer, no other page can read."""
FORMS = frozenset({"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""Content types that a page may send to other origins without asking first."""
ANY = "*"
FORBIDDEN, UNSUPPORTED_MEDIA_TYPE, MISDIRECTED = 403, 415, 421
_HOST = re.compile(r"(?P<name>[\w.\-]+|\[[0-9a-f:.]+\])(:\d*)?", re.ASCII | re.IGNORECASE)
_PATTERN = re.compile(r"(\*\.)?[\w\-]+(\.[\w\-]+)*", re.ASCII)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.\-]*://[^/?#@\s]+", re.ASCII)
_ASKED = frozenset({b"host", b"origin", b"sec-fetch-site", b"content-type"})
_SHOWN = 200
"""Characters of a header that a message repeats."""


@dataclass(frozen=True)
class Refusal:
    """Why a request is not taken: an HTTP status, what is wrong, and what can be done."""

    status: int
    message: str
    hint: str


class AllowedHosts:
    """The names by which a server may be asked: this machine's, the address that it listens at and
    `more`: names, addresses, or `*.example.org` for all names below one.

    A server that listens at all addresses may be asked by any of them: what cannot be told is
    names, and an address needs no resolving that could be tampered with.
    """

    def __init__(self, listening: str = "127.0.0.1", more: Iterable[str] = ()) -> None:
        """ConfigError for one of `more` that is none of these."""
        given = [allowed_host(text) for text in more]
        own = _address(listening)
        self._any_address = own is not None and own.is_unspecified
        self._names = {"localhost", "127.0.0.1", "::1", listening.lower()}
        self._names |= {text for text in given if not text.startswith("*.")}
        self._below = tuple(text[1:] for text in given if text.startswith("*."))

    def __contains__(self, host: str) -> bool:
        """Whether a Host header, with its port or without, is one of them."""
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
    """What one server takes of browsers. `origins` are those whose pages may use it; `*` stands
    for all, but not for WebSockets: of those a browser does not ask first."""

    hosts: AllowedHosts
    origins: frozenset[str] = frozenset()

    def refusal(self, scope: Scope) -> Refusal | None:
        """What is wrong with a request, by its ASGI scope (http or websocket)."""
        headers = _headers(scope)
        host, origin = headers.get(b"host", ""), headers.get(b"origin", "")
        of_browser = b"origin" in headers or b"sec-fetch-site" in headers
        # Some health checks are HTTP/1.0, without a Host; no browser sends a request like that.
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
    """Whether the page that asks is this server's own, or nobody's (an address that somebody
    typed), by the headers Sec-Fetch-Site, Origin and Host; empty for one that is not there."""
    if site:
        return site in ("same-origin", "none")
    # An older browser, or one that asks without TLS for what is not on its machine. The scheme may
    # be another one behind a proxy, so only what follows counts.
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
    """Those that are asked for; one that comes twice is one that fits nothing."""
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
    """A name, an address or `*.NAME` in the form that AllowedHosts compares; ConfigError for
    anything else."""
    name = text.strip().strip("[]").lower().removesuffix(".")
    if _PATTERN.fullmatch(name) or _address(name):
        return name
    raise ConfigError(
        f"{text} is not a host",
        hint="A name or an address without scheme and port, such as streamsql.example.org, or "
        "*.example.org for all names below one.",
    )


def trusted_origin(text: str) -> str:
    """An origin as browsers send it, or `*`; ConfigError for anything else."""
    origin = text.strip().lower().rstrip("/")
    if origin == ANY or _ORIGIN.fullmatch(origin):
        return origin
    raise ConfigError(
        f"{text} is not an origin", hint="A scheme and a host, such as https://app.example.org."
    )
