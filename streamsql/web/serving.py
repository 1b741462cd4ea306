"""An HTTP server of granian's in this process, and the port that it is to have."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from granian.server.embed import Server

_KEEP_LOGGING = {"incremental": True, "formatters": {}, "handlers": {}, "loggers": {}}
"""Else granian closes the handlers of all loggers, and this may be a user's program."""


def http_server(application: Any, host: str, port: int, **options: Any) -> Server:
    """The server of an ASGI application, to be awaited; `options` are granian's own."""
    # Here, so that an engine that serves nothing does not load it.
    from granian.constants import Interfaces
    from granian.server.embed import Server

    return Server(
        application,
        host,
        port,
        interface=Interfaces.ASGINL,
        log_enabled=False,
        log_dictconfig=_KEEP_LOGGING,
        **options,
    )


def claim(host: str, port: int) -> socket.socket:
    """A socket bound to the port alone (0: any that is free); OSError where somebody has it.

    Granian itself would share a port with whoever has it already.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    claimed = socket.socket(family, socket.SOCK_STREAM)
    try:
        claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        claimed.bind((host, port))
    except OSError:
        claimed.close()
        raise
    return claimed
