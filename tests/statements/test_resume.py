"""Files that are run again and again: tests/cases/resume.

A case tells a story of sections: `-- run` a file (with variables, `killed=N` after that many of its
statements, `whole` as a server's queries file), and `-- shell` for statements by other means. What
the last file runs is expected, or its error. Kafka and Spark are not needed: the log is real.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from datadriven import Case, cases, check
from statements.world import World

from streamsql.errors import StreamSQLError, render
from streamsql.parser import to_sql
from streamsql.pipelines.lines import read_lines
from streamsql.planner.plans.statements import SchemaLookup
from streamsql.run_script import NamedText
from streamsql.runtime.export import catalog_script
from streamsql.runtime.history import History
from streamsql.session import Session
from streamsql.statements.files.resume import Left, check_runs, left_of


class NoSchemas(SchemaLookup):
    """A schema registry that is empty."""

    def schema(self, wanted: str | int) -> None:
        return None


class Files(World):
    """Files that are run against it."""

    def left(self, script: NamedText, variables: dict[str, str], whole: bool) -> Left:
        known = self.session
        session = Session(dict(known.properties), {**known.variables, **variables})
        lines = read_lines([script], session, definitions_only=whole)
        left = left_of(lines, History.of(self.entries), whole=whole)
        check_runs(left, self.replay.catalog, known, NoSchemas())
        return left

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
    world, shown = Files(), ""
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
    world = Files()
    assert world.run(outer).splitlines() == [
        "DEFINE N = '2';",
        "CREATE TYPE P AS STRUCT<A INTEGER>;",
        "SHOW TYPES;",
        "CREATE VIEW V AS SELECT 2 AS N FROM KSQL_PROCESSING_LOG;",
    ]
    assert world.run(outer).splitlines() == ["SHOW TYPES;", "2 statements have already been run."]
    inner.write_text("\nCREATE TYPE p AS STRUCT<b INT>;\n")
    assert world.run(outer, "n=2").startswith(
        f"{inner}:2:1: catalog error: the type P exists with another definition\n"
        "  CREATE TYPE p AS STRUCT<b INT>;\n"
        "  ^^^^^^\n"
    )


def test_a_script_that_runs_itself(tmp_path: Path) -> None:
    file = tmp_path / "again.sql"
    file.write_text(f"SHOW TYPES;\nRUN SCRIPT '{file}';")
    text = Files().run(f"RUN SCRIPT '{file}';")
    assert text.startswith(f"{file}:2:1: configuration error: the script {file} runs itself")


def test_the_command_line_goes_before_what_was_defined_in_the_shell() -> None:
    world = Files()
    world.shell("DEFINE n = '1';")
    assert world.run("CREATE VIEW v AS SELECT ${n} AS n FROM ksql_processing_log;", "n=2") == (
        "CREATE VIEW V AS SELECT 2 AS N FROM KSQL_PROCESSING_LOG;"
    )


def test_the_log_with_rows_is_replayed_and_exported() -> None:
    world = Files()
    stream = "CREATE STREAM s (x INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    world.run(stream + "INSERT INTO s VALUES (1); INSERT INTO s SELECT x + 1 AS x FROM s;")
    assert [entry.is_row for entry in world.entries] == [False, True, False]
    assert list(world.replay.queries) == ["INSERTQUERY_0"]
    assert "VALUES" not in catalog_script(world.entries)
