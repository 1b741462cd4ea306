"""Shared state of a server's requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from starlette.requests import Request
from starlette.types import Scope

from streamsql.engine import Engine, Script
from streamsql.server.http.requests import SEVERAL_REQUESTS, StatementRequest, parse_json, read_body
from streamsql.server.security.sessions import Sessions
from streamsql.server.settings.config import ServerConfig
from streamsql.server.state.command_statuses import CommandStatuses
from streamsql.server.state.hosts import Hosts
from streamsql.server.state.observed import Observed
from streamsql.server.state.running_queries import RunningQueries
from streamsql.server.telemetry.metrics import Metrics
from streamsql.session import Session
from streamsql.users.work import WorkThreads

T = TypeVar("T")
TOKEN_HEADER = "streamsql-token"
"""In a response: token of its writes. In a request: writes that its queries must see."""
EPOCH_HEADER = "streamsql-epoch"
"""In the response of a pull query: the epoch as of which it read materialized views."""
TOKEN_PROPERTY = "streamsql.consistency.token"
_SCRIPT = "streamsql.script"
"""Scope key of parsed statements."""


class ServerState:
    """Engine, settings and limits; stored as `app.state.server`."""

    def __init__(
        self, engine: Engine, config: ServerConfig, work: WorkThreads | None = None
    ) -> None:
        """`work`: threads shared with other ports of the server."""
        self.engine = engine
        self.config = config
        self.started_at = time.time()
        self.stopping = False
        """Set once the server rejects new requests."""
        self.requests: set[asyncio.Task[object]] = set()
        self.commands = CommandStatuses()
        """Status of commands for /status."""
        self.running = RunningQueries(config.max_push_queries)
        """Push queries, with threads separate from `work`."""
        self.work = work or WorkThreads(config.threads)
        self.sessions = Sessions()
        self.observed = Observed()
        """Source of the console's graph, which reads from Kafka."""
        self.hosts = Hosts()
        """Reports of other servers."""
        self.metrics = Metrics(engine)

    async def run(self, work: Callable[[], T], *, begun: bool = False) -> T:
        """Runs a blocking call (any call of the engine) in a thread. ExternalError, which becomes
        503, if no thread is available in time; `begun`: a response that has started waits without a
        timeout."""
        return await self.work.run(work, patient=begun)

    def session(self, request: StatementRequest) -> Session:
        return request.session(self.engine.session)

    def script(self, scope: Scope, sql: str, session: Session) -> Script:
        """The statements of a request, parsed once. Slow for long texts, so it runs in a thread."""
        script = self.parsed(scope)
        if script is None:
            script = scope[_SCRIPT] = self.engine.parse(sql, session)
        return script

    @staticmethod
    def parsed(scope: Scope) -> Script | None:
        """The statements of a request if they have been parsed."""
        script = scope.get(_SCRIPT)
        return script if isinstance(script, Script) else None


def state_of(request: Request) -> ServerState:
    state = request.app.state.server
    assert isinstance(state, ServerState)
    return state


async def statement_request(request: Request) -> StatementRequest:
    state = state_of(request)
    body = await read_body(request, state.config.max_statement_bytes, SEVERAL_REQUESTS)
    given = StatementRequest.of(parse_json(body))
    token = request.headers.get(TOKEN_HEADER)
    if token:
        return replace(given, properties={TOKEN_PROPERTY: token, **given.properties})
    return given
