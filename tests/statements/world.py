"""A statement log and what it comes to, without Kafka and Spark."""

from __future__ import annotations

from pathlib import Path

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import ParseError
from streamsql.log.entries import Entry, FileLog
from streamsql.nodes import Statement
from streamsql.parser import parse_each, to_sql
from streamsql.pipelines.lines import SESSION
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.planner.processing_log import declare
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import plan
from streamsql.runtime.replay import Replay
from streamsql.session import Session


class World:
    """A statement log, and what it comes to."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.replay = Replay(Catalog())
        declare(self.replay.catalog)

    @property
    def session(self) -> Session:
        return Session(self.replay.properties, self.replay.variables)

    def do(self, statement: Statement) -> None:
        """Run one statement, in a Kafka without topics."""
        topics, properties = RememberedTopics({}), self.replay.properties
        planned = plan(statement, self.replay.catalog, properties, topics)
        logged = statement.effect.logged or isinstance(statement, (*SESSION, nodes.InsertValues))
        if not logged or isinstance(planned, NothingToDo):
            return
        query = planned.query if isinstance(planned, QueryStatementPlan) else None
        entry = Entry(
            len(self.entries) + 1,
            to_sql(statement) + ";",
            dict(properties),
            query.query_id if query else None,
        )
        self.entries.append(entry)
        self.replay.add(entry)

    def shell(self, sql: str) -> None:
        for statement in parse_each(sql, self.session.variables):
            assert not isinstance(statement, ParseError), statement
            self.do(statement)


def data_folder(path: Path, sql: str) -> Path:
    """One whose engine has run the statements."""
    world, log = World(), FileLog(path / "statements.log")
    world.shell(sql)
    for entry in world.entries:
        log.append(entry)
    log.close()
    return path
