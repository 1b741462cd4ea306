"""Queries over all rows of served tables: what stores answer is what Spark's batch engine does.

Each query is asked of a SOURCE TABLE, which has a store, and of a table by CREATE TABLE over the
same topic, which has none.
"""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice, zip_longest

import pytest
from engine.live import Live
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.results import Answer
from streamsql.tokens import to_token

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COLUMNS = """(id STRING PRIMARY KEY, i INT, b BIGINT, d DOUBLE, m DECIMAL(10, 2), s STRING, y BYTES,
  f BOOLEAN, dt DATE, tm TIME, ts TIMESTAMP, a ARRAY<INT>, mp MAP<STRING, BIGINT>,
  st STRUCT<x INT, z DOUBLE>, p STRING)
  WITH (KAFKA_TOPIC='$topic', VALUE_FORMAT='JSON');"""
KEYS = 150

GROUPS = ("i % 3", "s", "d", "m", "f", "y", "dt", "tm", "ts", "a", "st", "SQRT(d)", "s, f")
AGGREGATES = (
    "COUNT(*)",
    "COUNT(s)",
    "SUM(i)",
    "SUM(b)",
    "SUM(d)",
    "SUM(m)",
    "AVG(i)",
    "SUM_LIST(a)",
    "ROUND(STDDEV_SAMPLE(d), 6)",
    "MIN(d)",
    "MAX(SQRT(d))",
    "MIN(s)",
    "MAX(y)",
    "MIN(ts)",
    "MAX(m)",
    "COUNT_DISTINCT(s)",
    "COLLECT_LIST(i)",
    "COLLECT_SET(s)",
    "HISTOGRAM(s)",
    "ATTR(f)",
    "TOPK(i, 3)",
    "TOPKDISTINCT(d, 2)",
    "LATEST_BY_OFFSET(s)",
    "EARLIEST_BY_OFFSET(i, 2)",
)
CONDITIONS = (
    "",
    "WHERE i > 0 OR s IS NULL",
    "WHERE 10 / i > 1",
    "WHERE s LIKE '%a%' AND NOT f",
    "WHERE d IN (0.0, 0.5) OR SQRT(d) > 1",
    "WHERE CAST(s AS INT) IS NULL",
    "WHERE st->x > 1 OR ARRAY_LENGTH(a) > 1",
    "WHERE mp['k'] > 0 AND b < 0",
    "WHERE b * 9000000000000000000 > 0",
    "WHERE dt > '1970-01-02' AND ts < '2021-01-01'",
)
ORDERS = ("i", "d DESC", "m NULLS FIRST", "s", "y DESC", "f", "ts DESC NULLS FIRST", "SQRT(d)")

QUERIES = (
    "SELECT * FROM {t};",
    "SELECT id, ROWTIME, i / 2 AS h, CAST(d AS STRING) AS t, m * m AS q, s + 'x' AS u FROM {t};",
    "SELECT COUNT(*) AS n, SUM(d) AS s, MAX(ROWTIME) AS t FROM {t};",
    "SELECT COUNT(*) AS n FROM {t} WHERE i > 100000;",
    "SELECT i, COUNT(*) AS n FROM {t} WHERE i > 100000 GROUP BY i;",
    "SELECT s, COUNT(*) AS n FROM {t} GROUP BY s HAVING COUNT(*) > 3;",
    "SELECT DISTINCT d, f FROM {t};",
    "SELECT n, COUNT(*) AS m FROM (SELECT i, COUNT(*) AS n FROM {t} GROUP BY i) GROUP BY n;",
    "SELECT id FROM {t} WHERE i > 0 UNION ALL SELECT s FROM {t} WHERE i < 0;",
    "SELECT a.id, a.i, b.d FROM {t} a JOIN {t} b ON a.id = b.id WHERE b.f;",
    "SELECT a.id, b.id AS o, b.s FROM {t} a LEFT JOIN {t} b ON a.p = b.id;",
    "SELECT b.f, COUNT(*) AS n, MAX(a.i) AS i FROM {t} a JOIN {t} b ON a.p = b.id GROUP BY b.f;",
    "SELECT id, s FROM {t} WHERE p IN (SELECT id FROM {t} WHERE f);",
    "SELECT id, i FROM {t} WHERE NOT EXISTS (SELECT 1 FROM {t} o WHERE o.p = {t}.id);",
    "SELECT f, n, id FROM (SELECT f, id, i, ROW_NUMBER() OVER (PARTITION BY f ORDER BY i DESC, id)"
    " AS n FROM {t}) WHERE n <= 3;",
    "SELECT id, SUM(i) OVER (PARTITION BY f ORDER BY ROWTIME) AS n, LAG(s) OVER (PARTITION BY f"
    " ORDER BY ROWTIME) AS l FROM {t} WHERE i > 0;",
)


def value(chosen: random.Random) -> bytes | None:
    """A record's value: all types, with nulls and what is special of each; None deletes."""

    def one(*values: object) -> object:
        return chosen.choice((*values, *values, None))

    def encoded(content: bytes) -> str:
        return base64.b64encode(content).decode()

    if chosen.random() < 0.1:
        return None
    row = {
        "I": one(0, 1, -3, 7, 2**31 - 1, chosen.randrange(50)),
        "B": one(0, 1, 2**62, -(2**62), chosen.randrange(-9, 9)),
        "D": one(0.0, -0.0, 0.5, -1.25, 1e10, chosen.randrange(100) / 4),
        "M": one(0.0, -1.25, 99999999.99, chosen.randrange(1000) / 100),
        "S": one("", "a", "A", "ä", "\U0001f600", "\uffee", "a%", "12", chosen.choice("abc")),
        "Y": one(encoded(b""), encoded(b"\x00"), encoded(b"\xff"), encoded(b"a")),
        "F": one(True, False),
        "DT": one(0, 1, 18000, -400),
        "TM": one(0, 1, 86_399_999),
        "TS": one(0, 1, 1_600_000_000_000, -1),
        "A": one([], [1, None, 3], [chosen.randrange(4)]),
        "MP": one({}, {"k": 1}, {"k": None, "l": 2}),
        "ST": one({"X": 1, "Z": -0.0}, {"X": None, "Z": 0.0}, {"X": chosen.randrange(3), "Z": 0.5}),
        "P": f"k{chosen.randrange(2 * KEYS)}",
    }
    return json.dumps(row).encode()


class Tables:
    """A topic and two tables over it, one with a store."""

    def __init__(self, live: Live, kafka: KafkaClient) -> None:
        self.live = live
        self._kafka = kafka
        self._topic = live.name("T")
        kafka.create_topic(self._topic, 2)
        for create in ("SOURCE TABLE $p", "TABLE $q"):
            live.run(f"CREATE {create} {COLUMNS.replace('$topic', self._topic)}")

    def write(self, seed: int, count: int) -> None:
        """Rows, updates and deletions, which are seen by all that is asked from now on."""
        chosen = random.Random(seed)
        records = []
        for _ in range(count):
            number = chosen.randrange(KEYS)
            key = f"k{number}".encode()
            records.append(NewRecord(key, value(chosen), partition=number % 2))
        self._kafka.produce(self._topic, records)
        token = to_token({self._topic: self._kafka.end_offsets(self._topic)})
        self.live.session.properties["streamsql.consistency.token"] = token

    def ask(self, query: str) -> tuple[list[str], list[str]]:
        """The rows of the table with a store, and of the other one, each as text."""
        stored, batch = (self._rows(query.format(t=f"${t}")) for t in "pq")
        return stored, batch

    def check(self, query: str, *, ordered: bool = False) -> None:
        stored, batch = self.ask(query)
        if ordered:
            assert stored == batch, query
        assert Counter(stored) == Counter(batch), query

    def _rows(self, query: str) -> list[str]:
        (answer,) = self.live.run(query)
        assert isinstance(answer, Answer)
        return [repr(row.values) for row in answer.rows]


@pytest.fixture
def tables(live: Live, kafka: KafkaClient) -> Tables:
    tables = Tables(live, kafka)
    tables.write(1, 400)
    return tables


@pytest.mark.variants
@pytest.mark.parametrize("part", range(4))
def test_the_answer_is_that_of_sparks_batch_engine(tables: Tables, part: int) -> None:
    for query in QUERIES[part::4]:
        for table, way in (("$p", "the store of"), ("$q", "Spark's batch engine")):
            explained = "\n".join(tables.live.texts("EXPLAIN " + query.format(t=table)))
            assert f"Answered by: {way}" in explained, query
        tables.check(query)


@pytest.mark.variants
@pytest.mark.parametrize("writes", [4, 10])
def test_rows_in_memory_follow_the_store(tables: Tables, writes: int) -> None:
    query = "SELECT *, ROWTIME FROM {t};"
    tables.check(query)
    for seed in range(2, 2 + writes):
        tables.write(seed, 7 * seed)
        tables.check(query)


@pytest.mark.variants
@pytest.mark.parametrize("orders", [ORDERS[::4], ORDERS])
def test_orders(tables: Tables, orders: Sequence[str]) -> None:
    for order in orders:
        tables.check(f"SELECT id, i FROM {{t}} ORDER BY {order}, id;", ordered=True)
        tables.check(f"SELECT id FROM {{t}} ORDER BY {order}, id LIMIT 7;", ordered=True)


@pytest.mark.variants
@pytest.mark.parametrize(("combinations", "every"), [(3, 4), (len(AGGREGATES), 1)])
def test_groups(tables: Tables, combinations: int, every: int) -> None:
    """Combinations of what is grouped by, computed and wanted, each part in one at least if
    `every` is 1."""

    @settings(
        max_examples=combinations,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.sampled_from(GROUPS),
        st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=8, unique=True),
        st.sampled_from(CONDITIONS),
    )
    def check(group: str, aggregates: list[str], condition: str) -> None:
        _check_group(tables, group, aggregates, condition)

    _check_group(tables, "f", list(AGGREGATES), "")
    for group, condition in islice(zip_longest(GROUPS, CONDITIONS, fillvalue=""), 0, None, every):
        _check_group(tables, group, ["COUNT(*)"], condition)
    check()


def _check_group(tables: Tables, group: str, aggregates: list[str], condition: str) -> None:
    named = ", ".join(f"{call} AS c{i}" for i, call in enumerate(aggregates))
    keys = ", ".join(f"{key} AS g{i}" for i, key in enumerate(group.split(", ")))
    tables.check(f"SELECT {keys}, {named} FROM {{t}} {condition} GROUP BY {group};")
