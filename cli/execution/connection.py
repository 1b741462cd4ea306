"""The shell's interface to an engine in this process or on a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from streamsql.results import Result
from streamsql.session import Session
from streamsql.status import QueryInfo, StartupStatus

if TYPE_CHECKING:
    from streamsql.engine import Catalog


class Connection(Protocol):
    """An engine that is running; Engine and RemoteEngine are such."""

    @property
    def session(self) -> Session:
        """The session whose properties and variables statements see."""

    def execute(self, sql: str) -> Iterator[Result]:
        """Run statements; their results as they come. Raises the StreamSQLError of the first that
        fails."""

    def catalog(self) -> Catalog: ...

    def queries(self) -> Sequence[QueryInfo]: ...

    def startup(self) -> StartupStatus:
        """How far the engine's start is."""
