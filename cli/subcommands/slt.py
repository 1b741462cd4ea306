"""`streamsql test` of sqllogictest files: each is run by an engine in a session of standard SQL."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import READY_SECONDS
from streamsql.errors import StreamSQLError
from streamsql.properties import SEMANTICS
from streamsql.results import Answer, Field, Message, Row, Rows
from streamsql.session import Session
from streamsql.testing.cases.case import Case, Result, Status
from streamsql.testing.slt.records import read
from streamsql.testing.slt.run import Outcome, differences

if TYPE_CHECKING:
    from streamsql.engine import Engine

SUFFIX = ".slt"


def slt_files(paths: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The sqllogictest files among the paths and their folders, and the other paths."""
    files: list[Path] = []
    others: list[str] = []
    for path in map(Path, paths):
        found = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else []
        if path.suffix == SUFFIX:
            files.append(path)
        else:
            files += found
            others += [] if found else [str(path)]
    return files, others


def run_files(
    files: Sequence[Path], servers: str | None, kafka: dict[str, str]
) -> Iterator[Result]:
    """The result of each file."""
    with _engine(servers, kafka) as engine:
        for path in files:
            case = Case(str(path), str(path), path.stem, ())
            start = time.monotonic()
            try:
                found = differences(read(path), _Session(engine))
                status = Status.FAILED if found else Status.PASSED
                error = None
            except StreamSQLError as raised:
                found, status, error = [], Status.ERROR, raised.message
            seconds = time.monotonic() - start
            yield Result(case, status, seconds=seconds, differences=found, error=error)


@contextmanager
def _engine(servers: str | None, kafka: dict[str, str]) -> Iterator[Engine]:
    from streamsql.engine import Engine, EngineConfig

    with TemporaryDirectory(prefix="streamsql-slt-") as folder:
        config = EngineConfig(data_dir=Path(folder), bootstrap_servers=servers, kafka=kafka)
        with Engine(config) as engine:
            engine.wait_until_ready(READY_SECONDS)
            yield engine


class _Session:
    """One session of the engine, whose values have PostgreSQL's text."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = Session({SEMANTICS: "standard"}, remote=True)

    def run(self, sql: str) -> Outcome:
        from streamsql.postgres.sql.commands import Nothing, command_of

        # As over PostgreSQL's protocol: CREATE INDEX.
        if isinstance(command_of(sql, frozenset()), Nothing):
            return Outcome()
        rows: list[list[str | None]] = []
        count = None
        for result in self._engine.execute(sql.rstrip().rstrip(";") + ";", self._session):
            match result:
                case Answer():
                    rows += _texts(result.fields, result.rows)
                case Rows():
                    rows += _texts(result.fields, map(Row, result.rows))
                case Message():
                    count = result.count if result.count is not None else count
        return Outcome(rows, count)


def _texts(fields: Sequence[Field], rows: Iterable[Row]) -> list[list[str | None]]:
    from streamsql.postgres.forms import columns_of

    writers = [column.writer(0, None) for column in columns_of(fields)]
    return [
        [
            None if value is None else write(value).decode()
            for value, write in zip(row.values, writers, strict=True)
        ]
        for row in rows
    ]
