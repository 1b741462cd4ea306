"""Streams over internal topics, which an earlier version allowed, are out of reach."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.offline import Offline

from streamsql.api.applying import Changes
from streamsql.errors import ConfigError, ForbiddenError
from streamsql.kafka.client import KafkaClient
from streamsql.load.loader import load
from streamsql.load.spec import LoadSpec
from streamsql.log.entries import Entry, FileLog
from streamsql.parser import parse_one
from streamsql.run_script import NamedText
from streamsql.session import Session
from streamsql.statements.inserting.rows import RowInserts

COMMITS = (
    "CREATE STREAM C (K STRING KEY, V STRING)"
    " WITH (KAFKA_TOPIC='_streamsql_commits', VALUE_FORMAT='JSON');"
)
ORDERS = COMMITS.replace("STREAM C ", "STREAM O ").replace("_streamsql_commits", "o")
REGISTRY = (
    "CREATE TABLE T (K STRING PRIMARY KEY, V STRING)"
    " WITH (KAFKA_TOPIC='_schemas', VALUE_FORMAT='JSON');"
)
PREFIX = "'ksql.output.topic.name.prefix'"


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Offline]:
    log = FileLog(tmp_path / "statements.log")
    for sql in (COMMITS, ORDERS, REGISTRY):
        topic = sql.partition("KAFKA_TOPIC='")[2].partition("'")[0]
        log.append(Entry(log.next_sequence, sql, topics={topic: (1, 1)}, version="0.1.0"))
    log.close()
    with Offline(tmp_path) as offline:
        yield offline


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("INSERT INTO c VALUES ('k', 'v');", "write the topic '_streamsql_commits'"),
        ("INSERT INTO c SELECT * FROM o;", "write the topic '_streamsql_commits'"),
        ("SELECT * FROM c EMIT CHANGES;", "read the topic '_streamsql_commits'"),
        ("SELECT * FROM c;", "read the topic '_streamsql_commits'"),
        ("SELECT * FROM t WHERE k = 'k';", "read the topic '_schemas'"),
        ("SELECT * FROM o JOIN t ON o.k = t.k EMIT CHANGES;", "read the topic '_schemas'"),
        ("INSERT INTO o SELECT * FROM c;", "read the topic '_streamsql_commits'"),
        ("EXPLAIN SELECT * FROM c EMIT CHANGES;", "read the topic '_streamsql_commits'"),
        ("CREATE SINK f FROM c WITH (CONNECTION='FILE', PATH='/d', FORMAT='JSON');", "read the"),
        ("DROP STREAM c DELETE TOPIC;", "write the topic '_streamsql_commits'"),
        ("DROP TABLE t DELETE TOPIC;", "write the topic '_schemas'"),
    ],
)
def test_no_statement_reaches_an_internal_topic(offline: Offline, sql: str, said: str) -> None:
    with pytest.raises(ForbiddenError, match=said):
        offline.run(sql)


@pytest.mark.parametrize(
    "files",
    [
        f"{ORDERS} CREATE STREAM `_schemas` AS SELECT * FROM o;",
        f"{ORDERS} SET {PREFIX} = '_streamsql_push_'; CREATE STREAM x AS SELECT * FROM o;",
        COMMITS,
    ],
)
def test_no_file_is_applied_that_reaches_one(offline: Offline, files: str) -> None:
    changes, texts = Changes(offline.state), [NamedText("f.sql", files)]
    with pytest.raises(ForbiddenError, match="it is internal"):
        changes.apply(texts)
    (error,) = changes.plan(texts).errors
    assert isinstance(error, ForbiddenError)
    assert offline.state.log.next_sequence == 4


def test_neither_rows_nor_lookups_reach_one(offline: Offline) -> None:
    with pytest.raises(ForbiddenError, match="write the topic '_streamsql_commits'"):
        RowInserts("c", offline.context())
    sql = "SELECT * FROM t WHERE k = 'k';"
    assert offline.state.serving.lookup(sql, parse_one(sql), Session()) is None


def test_what_an_earlier_version_allowed_can_be_dropped(offline: Offline) -> None:
    assert offline.texts("DROP STREAM c;") == [
        "Source `C` (topic: _streamsql_commits) was dropped."
    ]


def test_records_are_not_loaded_into_an_internal_topic(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    file.write_text('{"k": 1}\n')
    spec = LoadSpec(str(file), "_streamsql_commits")
    with pytest.raises(ConfigError, match="is internal"):
        load(spec, KafkaClient("127.0.0.1:1"), lambda progress: None)
