"""An engine without Kafka and Spark: what answers while both are still starting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from streamsql.config import EngineConfig
from streamsql.executor.services.background import Service
from streamsql.parser import parse_each
from streamsql.results import Message, Result, Rows, Text, Warning
from streamsql.runtime.restore import restore
from streamsql.runtime.state import Context, EngineState
from streamsql.session import Session
from streamsql.statements import execute


class Offline:
    """One life of an engine's state on a data folder."""

    def __init__(
        self, folder: Path, servers: str = "127.0.0.1:1", config: EngineConfig | None = None
    ) -> None:
        self.state = EngineState(config or EngineConfig(folder, servers))
        self.state.data.create()
        self.state.restored = Service("statements", lambda report: restore(self.state))
        self.state.restored.start()
        self.state.restored.get()

    def run(self, sql: str, session: Session | None = None) -> list[Result]:
        return list(self.results(sql, session))

    def results(self, sql: str, session: Session | None = None) -> Iterator[Result]:
        """The results as they come, up to an error."""
        context = self.context(session)
        for statement in parse_each(sql, context.session.variables):
            if isinstance(statement, Exception):
                raise statement
            yield from execute(statement, context)

    def context(self, session: Session | None = None) -> Context:
        """What a handler is given; the session is the engine's own but for another."""
        own = session or self.state.session
        return Context(self.state, own, lambda path: self.run(Path(path).read_text()))

    def texts(self, sql: str) -> list[str]:
        return texts(self.run(sql))

    def close(self) -> None:
        self.state.log.close()
        self.state.queries.close()

    def __enter__(self) -> Offline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def texts(results: Iterable[Result]) -> list[str]:
    """Results as lines: a row as its cells joined by ` | `."""
    lines: list[str] = []
    for result in results:
        match result:
            case Message() | Warning():
                lines.append(result.text)
            case Text():
                lines += result.text.splitlines()
            case Rows():
                lines += [" | ".join("" if c is None else str(c) for c in r) for r in result.rows]
            case _:
                raise AssertionError(f"not a finished result: {result}")
    return lines
