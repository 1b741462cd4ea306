"""A queries file: each statement is run once, and what has been run cannot be changed."""

from __future__ import annotations

import pytest

from streamsql.errors import ConfigError, ParseError, UnsupportedError
from streamsql.log.entries import Entry
from streamsql.parser import to_sql
from streamsql.statements.queries_file import check_file, left_to_run

FILE = """
DEFINE topic = 'a';
SET 'auto.offset.reset' = 'latest';
CREATE STREAM IF NOT EXISTS s (x INT)
  WITH (KAFKA_TOPIC='${topic}', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM t AS SELECT x FROM s;
"""


def run(sql: str, done: list[Entry]) -> list[Entry]:
    """The log after a start with the file."""
    entries = list(done)
    for statement in left_to_run(sql, {}, done):
        entries.append(Entry(len(entries) + 1, to_sql(statement) + ";"))
    return entries


def test_each_statement_is_run_once() -> None:
    first = run(FILE, [])
    assert [entry.sql.split()[0] for entry in first] == ["DEFINE", "SET", "CREATE", "CREATE"]
    assert "KAFKA_TOPIC = 'a'" in first[2].sql
    assert run(FILE, first) == first


def test_the_file_may_grow_and_be_laid_out_anew() -> None:
    first = run(FILE, [])
    grown = run(FILE.replace("\n", " ") + "-- more\nDROP STREAM t;", first)
    assert [entry.sql for entry in grown[4:]] == ["DROP STREAM T;"]


def test_a_start_that_was_cut_short_is_made_good() -> None:
    first = run(FILE, [])
    for number in range(len(first)):
        assert run(FILE, first[:number]) == first


def test_what_had_nothing_to_do_is_not_in_the_log() -> None:
    first = [entry for entry in run(FILE, []) if "IF NOT EXISTS" not in entry.sql]
    assert run(FILE, first) == first


@pytest.mark.parametrize(
    "file", [FILE.replace("SELECT x", "SELECT x + 1 AS x"), FILE.replace("'a'", "'b'"), ""]
)
def test_what_has_been_run_cannot_be_changed(file: str) -> None:
    with pytest.raises(ConfigError, match="differs from what has been run, at statement [14]"):
        run(file, run(FILE, []))


@pytest.mark.parametrize(
    "sql", ["INSERT INTO s VALUES (1);", "SELECT * FROM s EMIT CHANGES;", "SHOW STREAMS;"]
)
def test_what_has_no_place_in_such_a_file(sql: str) -> None:
    with pytest.raises(UnsupportedError, match="definitions and queries only"):
        check_file(FILE + sql, {})


def test_nothing_is_run_of_a_file_that_is_wrong() -> None:
    with pytest.raises(ParseError):
        check_file(FILE + "CREATE STRAEM u;", {})
    check_file(FILE, {})
