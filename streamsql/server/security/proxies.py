"""The client of a request from a trusted proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from streamsql.errors import ConfigError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def trusted_proxy(text: str) -> Network:
    """An address or a network such as `10.0.0.0/8`; ConfigError otherwise."""
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError as error:
        raise ConfigError(
            f"{text} is not the address of a proxy: {error}", hint="Use 10.0.0.7 or 10.0.0.0/8."
        ) from None


class Proxies:
    """ASGI middleware: rate limits apply to the clients of trusted proxies."""

    def __init__(self, app: ASGIApp, trusted: Sequence[Network]) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and (peer := scope.get("client")):
            scope["client"] = (self._client(peer[0], Headers(scope=scope)), peer[1])
        await self._app(scope, receive, send)

    def _client(self, peer: str, headers: Headers) -> str:
        """The last address that is not a trusted proxy; clients can forge the addresses before
        it."""
        hops = [
            hop.strip() for line in headers.getlist("x-forwarded-for") for hop in line.split(",")
        ]
        address = peer
        while hops and self._is_trusted(address):
            address = hops.pop()
        return address

    def _is_trusted(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)
