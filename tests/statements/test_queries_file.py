"""A queries file: what may stand in it. What is run of it is in tests/cases/resume/whole.txt."""

from __future__ import annotations

import pytest

from streamsql.api.checking import check_queries_file
from streamsql.errors import ParseError, UnsupportedError
from streamsql.run_script import NamedText

FILE = """
DEFINE topic = 'a';
SET 'auto.offset.reset' = 'latest';
CREATE STREAM IF NOT EXISTS s (x INT)
  WITH (KAFKA_TOPIC='${topic}', PARTITIONS=1, VALUE_FORMAT='${format}');
CREATE STREAM t AS SELECT x FROM s;
"""


def check(sql: str) -> None:
    check_queries_file(NamedText("f.sql", sql), {"format": "JSON"})


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO s VALUES (1);",
        "SELECT * FROM s EMIT CHANGES;",
        "SHOW STREAMS;",
        "RUN SCRIPT 'other.sql';",
    ],
)
def test_what_has_no_place_in_such_a_file(sql: str) -> None:
    with pytest.raises(UnsupportedError, match="definitions and queries only") as caught:
        check(FILE + sql)
    assert caught.value.file == "f.sql" and caught.value.span is not None
    assert caught.value.span.line == 7


def test_nothing_is_run_of_a_file_that_is_wrong() -> None:
    with pytest.raises(ParseError):
        check(FILE + "CREATE STRAEM u;")
    check(FILE)
