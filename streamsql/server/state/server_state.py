"""What all requests of one server share."""

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
"""In an answer: what its statements wrote. In a request: what its queries are to have seen."""
TOKEN_PROPERTY = "streamsql.consistency.token"
_SCRIPT = "streamsql.script"
"""In the scope of a request whose statements have been parsed already."""


class ServerState:
    """The engine, the settings and the bounds; kept as `app.state.server`."""

    def __init__(
        self, engine: Engine, config: ServerConfig, work: WorkThreads | None = None
    ) -> None:
        """`work`: threads that other ports of the server share."""
        self.engine = engine
        self.config = config
        self.started_at = time.time()
        self.stopping = False
        """Set once: from then on requests are refused."""
        self.requests: set[asyncio.Task[object]] = set()
        """Those being answered."""
        self.commands = CommandStatuses()
        """What became of statements, for /status."""
        self.running = RunningQueries(config.max_push_queries)
        """Push queries, each with a thread of its own beside those of `work`."""
        self.work = work or WorkThreads(config.threads)
        self.sessions = Sessions()
        """Those of browsers that show the console."""
        self.observed = Observed()
        """What the console's graph shows: Kafka is asked for it."""
        self.hosts = Hosts()
        """Other servers, as they report themselves."""
        self.metrics = Metrics(engine)

    async def run(self, work: Callable[[], T], *, begun: bool = False) -> T:
        """Do something that blocks (any call of the engine) in a thread, off the event loop.
        ExternalError, which is answered with 503, where no thread gets free in time; `begun`: of
        an answer whose beginning has been sent, which waits as long as it takes."""
        return await self.work.run(work, patient=begun)

    def session(self, request: StatementRequest) -> Session:
        """The session of one request; see requests.py."""
        return request.session(self.engine.session)

    def script(self, scope: Scope, sql: str, session: Session) -> Script:
        """The statements of a request, parsed once for all that look at them. Takes as long as
        the text is: to be called in a thread."""
        script = self.parsed(scope)
        if script is None:
            script = scope[_SCRIPT] = self.engine.parse(sql, session)
        return script

    @staticmethod
    def parsed(scope: Scope) -> Script | None:
        """The statements of a request, if somebody has had to look at them already."""
        script = scope.get(_SCRIPT)
        return script if isinstance(script, Script) else None


def state_of(request: Request) -> ServerState:
    """The server's state, from any endpoint's request."""
    state = request.app.state.server
    assert isinstance(state, ServerState)
    return state


async def statement_request(request: Request) -> StatementRequest:
    """The body of a request with statements, read and checked."""
    state = state_of(request)
    body = await read_body(request, state.config.max_statement_bytes, SEVERAL_REQUESTS)
    given = StatementRequest.of(parse_json(body))
    token = request.headers.get(TOKEN_HEADER)
    if token:
        return replace(given, properties={TOKEN_PROPERTY: token, **given.properties})
    return given
