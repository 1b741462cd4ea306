"""Files that are run again and again: tests/cases/resume.

A case tells a story of sections: `-- run` a file (with variables, `killed=N` after so many of its
statements, `whole` as a server's queries file), and `-- shell` for statements by other means. What
the last file runs is expected, or its error. Kafka and Spark are not needed: the log is real.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from datadriven import Case, cases, check

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import ParseError, StreamSQLError, render
from streamsql.log.entries import Entry
from streamsql.nodes import Statement
from streamsql.parser import parse_each, to_sql
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan, SchemaLookup
from streamsql.planner.statements import plan
from streamsql.run_script import NamedText
from streamsql.runtime.export import catalog_script
from streamsql.runtime.history import History
from streamsql.runtime.processing_log import declare
from streamsql.runtime.replay import Replay
from streamsql.runtime.topics import RememberedTopics
from streamsql.session import Session
from streamsql.statements.files.lines import SESSION, read_lines
from streamsql.statements.files.resume import Left, check_runs, left_of


class NoSchemas(SchemaLookup):
    """A schema registry that is empty."""

    def schema(self, wanted: str | int) -> None:
        return None


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

    def left(self, script: NamedText, variables: dict[str, str], whole: bool) -> Left:
        known = self.session
        session = Session(dict(known.properties), {**known.variables, **variables})
        lines = read_lines([script], session, definitions_only=whole)
        left = left_of(lines, History.of(self.entries), whole=whole)
        check_runs(left, self.replay.catalog, known, NoSchemas())
        return left

    def shell(self, sql: str) -> None:
        for statement in parse_each(sql, self.session.variables):
            assert not isinstance(statement, ParseError), statement
            self.do(statement)

    def run(self, sql: str, *options: str) -> str:
        """The statements that were run, or the error that the file ended with."""
        given = dict(option.split("=", 1) for option in options if "=" in option)
        killed = int(given.pop("killed", "1000"))
        variables = {name.upper(): value for name, value in given.items()}
        done: list[str] = []
        try:
            left = self.left(NamedText("f.sql", sql), variables, "whole" in options)
            for line in islice(left.to_run(self.session), killed):
                self.do(line.statement)
                done.append(to_sql(line.statement) + ";")
        except StreamSQLError as error:
            return "\n".join([*done, render(error, sql, "f.sql")])
        return "\n".join([*done, *([left.remark] if left.remark else [])])


def resume(case: Case) -> str:
    world, shown = World(), ""
    for section in case.input.removeprefix("-- ").split("\n-- "):
        head, _, sql = section.partition("\n")
        action, *options = head.split()
        if action == "shell":
            world.shell(sql)
        else:
            assert action == "run", section
            shown = world.run(sql, *options)
    return shown


@pytest.mark.parametrize("case", cases("resume"))
def test_resume(case: Case, rewrite: bool) -> None:
    check(case, {"resume": resume}, rewrite)


def test_scripts_are_run_in_their_place(tmp_path: Path) -> None:
    inner = tmp_path / "inner.sql"
    inner.write_text("DEFINE n = '2';\nCREATE TYPE p AS STRUCT<a INT>;\nSHOW TYPES;\n")
    outer = f"RUN SCRIPT '{inner}';\nCREATE VIEW v AS SELECT ${{n}} AS n FROM ksql_processing_log;"
    world = World()
    assert world.run(outer).splitlines() == [
        "DEFINE N = '2';",
        "CREATE TYPE P AS STRUCT<A INTEGER>;",
        "SHOW TYPES;",
        "CREATE VIEW V AS SELECT 2 AS N FROM KSQL_PROCESSING_LOG;",
    ]
    assert world.run(outer).splitlines() == ["SHOW TYPES;", "2 statements have been run before."]
    inner.write_text("\nCREATE TYPE p AS STRUCT<b INT>;\n")
    assert world.run(outer, "n=2").startswith(
        f"{inner}:2:1: catalog error: the type P is there, made by another statement than this\n"
        "  CREATE TYPE p AS STRUCT<b INT>;\n"
        "  ^^^^^^\n"
    )


def test_a_script_that_runs_itself(tmp_path: Path) -> None:
    file = tmp_path / "again.sql"
    file.write_text(f"SHOW TYPES;\nRUN SCRIPT '{file}';")
    text = World().run(f"RUN SCRIPT '{file}';")
    assert text.startswith(f"{file}:2:1: configuration error: the script {file} runs itself")


def test_the_command_line_goes_before_what_was_defined_in_the_shell() -> None:
    world = World()
    world.shell("DEFINE n = '1';")
    assert world.run("CREATE VIEW v AS SELECT ${n} AS n FROM ksql_processing_log;", "n=2") == (
        "CREATE VIEW V AS SELECT 2 AS N FROM KSQL_PROCESSING_LOG;"
    )


def test_the_log_with_rows_is_replayed_and_exported() -> None:
    world = World()
    stream = "CREATE STREAM s (x INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    world.run(stream + "INSERT INTO s VALUES (1); INSERT INTO s SELECT x + 1 AS x FROM s;")
    assert [entry.is_row for entry in world.entries] == [False, True, False]
    assert list(world.replay.queries) == ["INSERTQUERY_0"]
    assert "VALUES" not in catalog_script(world.entries)
