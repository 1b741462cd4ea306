"""SELECTs of standard SQL over plain tables and constants: stores answer, as DuckDB does."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from engine.live import Live

from streamsql.errors import EvaluationError, PlanError
from streamsql.results import Answer
from tests.relational.small import comparable

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STANDARD = "SET 'streamsql.sql.semantics' = 'standard';"
TABLES = """
CREATE TABLE $t (id INT PRIMARY KEY, a INT, b INT, c TEXT);
CREATE TABLE $s (a INT, d BIGINT);
INSERT INTO $t VALUES (1, 1, 5, 'x'), (2, 1, NULL, 'y'), (3, 2, 5, NULL), (4, NULL, 7, 'x');
INSERT INTO $s VALUES (1, 10), (1, 10), (2, NULL), (9, 4);
"""
QUERIES = (
    "SELECT 1 + 2, 'a' || 'b', NULL",
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL), (2, 'b')) AS v (n, w) WHERE n > 1",
    "SELECT COUNT(*), SUM(n) FROM (VALUES (1), (2)) AS v (n)",
    "SELECT id, a, b, c FROM $t ORDER BY b DESC NULLS LAST, id LIMIT 2",
    "SELECT x.id, y.id FROM $t x, $t y WHERE x.b = y.b AND x.id < y.id",
    "SELECT x.id, y.id FROM $t x LEFT JOIN $t y ON x.id < y.id AND y.b > x.b",
    "SELECT x.id, y.d FROM $t x FULL JOIN $s y ON x.a < y.a",
    "SELECT x.id, y.d FROM $t x CROSS JOIN $s y",
    "SELECT x.id, y.id, z.d FROM $t x JOIN $t y ON x.b = y.b JOIN $s z ON y.a = z.a",
    "SELECT v.id, z.d FROM $t v, $t x, $t y, $s z WHERE v.id = x.a AND x.id = y.b AND y.a = z.a",
    "SELECT x.id, y.id, z.d FROM $t x LEFT JOIN $t y ON x.a = y.id FULL JOIN $s z ON y.a = z.a",
    "SELECT x.id FROM $t x JOIN $t y ON x.a = y.id WHERE y.a IN (SELECT a FROM $s)",
    "SELECT y.a, COUNT(*) FROM $t x JOIN $t y ON x.b = y.b JOIN $s z ON y.a = z.a GROUP BY y.a",
    "SELECT id FROM $t WHERE EXISTS (SELECT * FROM $s WHERE $s.a > $t.a)",
    "SELECT id FROM $t WHERE NOT EXISTS (SELECT * FROM $s WHERE $s.a > $t.a)",
    "SELECT id FROM $t WHERE a NOT IN (SELECT a FROM $s WHERE d IS NOT NULL)",
    "SELECT id, (SELECT MAX(d) FROM $s) FROM $t WHERE b > (SELECT AVG(a) FROM $s)",
    "SELECT id, (SELECT COUNT(*) FROM $s WHERE $s.a < $t.id) FROM $t",
    "SELECT a, COUNT(*), COUNT(DISTINCT b), COUNT(DISTINCT c), MIN(c) FROM $t GROUP BY a",
    "SELECT a, c, SUM(b) FROM $t GROUP BY ROLLUP (a, c)",
    "SELECT COUNT(*), SUM(a) FROM $t WHERE FALSE",
    "SELECT a FROM $t UNION ALL SELECT a FROM $s",
    "SELECT a FROM $t UNION SELECT a FROM $s",
    "SELECT a FROM $t EXCEPT ALL SELECT a FROM $s",
    "SELECT a FROM $s INTERSECT ALL SELECT a FROM $t",
    "SELECT SUM(a) FROM (SELECT a FROM $t UNION ALL SELECT a FROM $s) u",
    "SELECT id, SUM(b) OVER (PARTITION BY a ORDER BY id), RANK() OVER (ORDER BY b) FROM $t",
    "SELECT DISTINCT ON (a) a, id FROM $t ORDER BY a, id DESC",
    "SELECT id, n FROM $t, generate_series(1, id) AS g (n) WHERE id < 3",
)

DIALECT: dict[str, list[tuple[object, ...]]] = {
    "SELECT 1 AS one, 2 * 3 AS six": [(1, 6)],
    "SELECT 1 / 0, UCASE('a')": [(None, "A")],
    "VALUES (1, 'a'), (2, 'b') ORDER BY 1 DESC": [(2, "b"), (1, "a")],
    "SELECT n, COUNT(*) FROM (VALUES (1), (1), (2)) AS v (n) GROUP BY n ORDER BY n": [
        (1, 2),
        (2, 1),
    ],
}


def _answer(live: Live, sql: str) -> Answer:
    return [part for part in live.run(sql) if isinstance(part, Answer)][-1]


@pytest.mark.parametrize("few", [0, 10_000], ids=["compiled", "interpreted"])
def test_stores_answer_as_duckdb_does(
    live: Live, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamsql.serving.serving.FEW", few)
    script = TABLES.replace("$t", "t").replace("$s", "s")
    database = duckdb.connect()
    database.execute(script)
    live.run(STANDARD + TABLES)
    for query in QUERIES:
        expected = database.execute(query.replace("$t", "t").replace("$s", "s")).fetchall()
        actual = [row.values for row in _answer(live, query + ";").rows]
        assert comparable(actual) == comparable(expected), query


def test_a_select_takes_no_spark_job(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a Spark job")

    monkeypatch.setattr("streamsql.executor.lowering.batch.batch_rows", refuse)
    live.run(STANDARD + TABLES)
    for query in QUERIES:
        assert list(_answer(live, query + ";").rows) is not None
    live.run("SET 'streamsql.sql.semantics' = 'ksqldb';")
    for query, expected in DIALECT.items():
        assert [row.values for row in _answer(live, query + ";").rows] == expected, query


def test_a_select_that_is_kept_holds_no_memory(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamsql.serving.serving.FEW", 0)
    live.run(STANDARD + TABLES)
    query = "SELECT x.id, y.id FROM $t x JOIN $t y ON x.b = y.b JOIN $s z ON y.a = z.a ORDER BY 2;"
    assert len(list(_answer(live, query).rows)) == 6
    plans = [q.plan for kept in live.engine._state.serving._queries._free.values() for q in kept]
    sorts = [sort for plan in plans for sort in _field(plan, "sorts")]
    assert len(sorts) >= 4
    assert all(sort.rowSorter() is None for sort in sorts)


def _field(of: Any, name: str) -> Any:
    """The value of a private field of a Java object."""
    field = of.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(of)


def test_a_repeated_select_has_other_random_values(live: Live) -> None:
    live.run("CREATE TABLE $t (id INT PRIMARY KEY); INSERT INTO $t VALUES (1);")
    for query in ("SELECT UUID(), RANDOM()", "SELECT UUID(), RANDOM() FROM $t"):
        first, second = ([row.values for row in _answer(live, query + ";").rows] for _ in range(2))
        assert len(first) == len(second) == 1
        assert set(first[0]).isdisjoint(second[0]), query


def test_windowed_tables_are_relations(live: Live) -> None:
    live.run(
        "CREATE STREAM $s (k STRING, at BIGINT) WITH (KAFKA_TOPIC='$s', PARTITIONS=1, "
        "VALUE_FORMAT='JSON', TIMESTAMP='at');"
        "CREATE TABLE $t AS SELECT k, COUNT(*) AS n FROM $s "
        "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k;"
        "INSERT INTO $s VALUES ('a', 1000), ('a', 2000), ('a', 12000), ('b', 3000);"
    )
    live.run(STANDARD + "FLUSH;")
    for query, expected in (
        ("SELECT * FROM $t", [("a", 0, 10000, 2), ("a", 10000, 20000, 1), ("b", 0, 10000, 1)]),
        ("SELECT windowstart, SUM(n) FROM $t GROUP BY windowstart", [(0, 3), (10000, 1)]),
        (
            "SELECT x.k, x.n - y.n FROM $t x JOIN $t y "
            "ON x.k = y.k AND x.windowend = y.windowstart",
            [("a", 1)],
        ),
        ("SELECT (SELECT MAX(n) FROM $t), (SELECT COUNT(*) FROM $t WHERE k = 'b')", [(2, 1)]),
    ):
        rows = [row.values for row in _answer(live, query + ";").rows]
        assert sorted(rows) == expected, query


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 / (a - 1) FROM $t", "division by zero"),
        ("SELECT id % 0 FROM $t", "division by zero"),
        ("SELECT b + 2147483647 FROM $t", "out of range"),
        ("SELECT CAST(c AS INT) FROM $t", 'invalid input syntax for type int.*: "x"'),
        ("SELECT (SELECT a FROM $s) FROM $t", "more than one row returned by a subquery"),
    ],
)
def test_an_expression_without_a_value_is_an_error(live: Live, query: str, message: str) -> None:
    live.run(STANDARD + TABLES)
    with pytest.raises(EvaluationError, match=message):
        list(_answer(live, query + ";").rows)


def test_columns_with_defaults_and_not_null(live: Live) -> None:
    live.run(
        STANDARD + "CREATE TABLE $t (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 5, "
        "b TEXT NOT NULL, g INT AS a * 2);"
    )
    live.run("INSERT INTO $t (id, b) VALUES (1, 'x'); INSERT INTO $t VALUES (2, DEFAULT, 'y');")
    with pytest.raises(PlanError, match="null value in column B of table"):
        live.run("INSERT INTO $t (id, a) VALUES (3, 1);")
    live.run("UPDATE $t SET a = s.n FROM (VALUES (1, 7)) AS s (id, n) WHERE $t.id = s.id;")
    rows = sorted(row.values for row in _answer(live, "SELECT id, a, b, g FROM $t;").rows)
    assert rows == [(1, 7, "x", 14), (2, 5, "y", 10)]
    with pytest.raises(PlanError, match="null value in column A"):
        live.run("UPDATE $t SET a = NULL WHERE id = 1;")
