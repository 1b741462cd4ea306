"""A granian HTTP server in this process, and its port."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from granian.server.embed import Server

_KEEP_LOGGING = {"incremental": True, "formatters": {}, "handlers": {}, "loggers": {}}
"""Otherwise granian closes the handlers of all loggers, also those of a user's program."""


def http_server(application: Any, host: str, port: int, **options: Any) -> Server:
    """The server of an ASGI application, to be awaited; `options` are granian's."""
    # Imported here, so that an engine without a server does not load it.
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
    """A socket bound exclusively to the port (0: any free port); OSError if it is in use. Granian
    itself would share the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    claimed = socket.socket(family, socket.SOCK_STREAM)
    try:
        claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        claimed.bind((host, port))
    except OSError:
        claimed.close()
        raise
    return claimed
