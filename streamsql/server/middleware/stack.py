"""The security middleware for the server's settings."""

from __future__ import annotations

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from streamsql.server.security.auth import Authentication
from streamsql.server.security.proxies import Proxies
from streamsql.server.security.throttle import Throttle
from streamsql.server.settings.config import ServerConfig
from streamsql.users.accounts import Users

_METHODS = ("GET", "POST", "OPTIONS")
_HEADERS = ("Authorization", "Content-Type", "Accept", "X-Request-ID", "streamsql-token")


def security(config: ServerConfig) -> list[Middleware]:
    """The outermost first; ConfigError for an invalid users file."""
    found = []
    if config.trusted_proxies:
        found.append(Middleware(Proxies, trusted=config.trusted_proxies))
    if config.cors_origins:
        # Before authentication: a preflight request has no credentials.
        found.append(
            Middleware(
                CORSMiddleware,
                allow_origins=config.cors_origins,
                allow_methods=_METHODS,
                allow_headers=_HEADERS,
                expose_headers=("X-Request-ID", "streamsql-token", "Retry-After"),
            )
        )
    if config.users_file is not None:
        found.append(Middleware(Authentication, users=Users(config.users_file)))
    if config.max_requests_per_second is not None:
        found.append(Middleware(Throttle, per_second=config.max_requests_per_second))
    return found
