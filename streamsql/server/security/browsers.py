"""The server's policy for browsers: see streamsql/web/origins.py."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.middleware import Middleware
from starlette.types import ASGIApp

from streamsql.server.http.errors import Failure
from streamsql.server.settings.config import ServerConfig
from streamsql.web.guard import BrowserGuard
from streamsql.web.origins import AllowedHosts, Policy, Refusal, trusted_origin


def browsers(config: ServerConfig) -> Middleware:
    """The guard for a server's settings; ConfigError for invalid names or origins."""
    # Other servers of the service and their clients use that name.
    advertised = urlsplit(config.url).hostname or config.host
    hosts = AllowedHosts(config.host, [*config.allowed_hosts, advertised])
    origins = frozenset(map(trusted_origin, config.cors_origins))
    return Middleware(BrowserGuard, policy=Policy(hosts, origins), refused=_refused)


def _refused(refusal: Refusal) -> ASGIApp:
    message = f"{refusal.message}\nHint: {refusal.hint}"
    return Failure(refusal.status * 100, message).response()
