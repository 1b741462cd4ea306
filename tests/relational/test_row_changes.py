"""Statements that change plain tables: the rows that their queries find, in DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from streamsql.catalog import Catalog
from streamsql.errors import PlanError, UnsupportedError
from streamsql.parser import parse
from streamsql.planner.ddl.row_changes import RowsPlan
from streamsql.planner.operators import View
from streamsql.planner.statements import apply, plan
from streamsql.properties import SEMANTICS
from tests.relational.duckdb_text import plan_text

STANDARD = {SEMANTICS: "standard"}
TABLE = """CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5, b INT DEFAULT 2 + 3, c TEXT,
    g INT AS a + b);"""


def catalog_of(script: str) -> Catalog:
    catalog = Catalog()
    for statement in parse(script):
        apply(plan(statement, catalog, STANDARD), catalog)
    return catalog


def rows_of(sql: str) -> list[tuple[object, ...]]:
    """The columns that the statement writes, and their values in rows of T."""
    (statement,) = parse(sql)
    planned = plan(statement, catalog_of(TABLE), STANDARD)
    assert isinstance(planned, RowsPlan)
    (view,) = planned.pull.query.root.inputs
    assert isinstance(view, View)
    database = duckdb.connect()
    database.execute('CREATE TABLE "T" (ID INT, A INT, B INT, C TEXT, G INT)')
    database.execute("INSERT INTO \"T\" VALUES (1, 10, 20, 'x', 30)")
    found = database.execute(plan_text(view.plan)).fetchall()
    return [planned.columns, *found]


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("INSERT INTO t (id) VALUES (7);", (7, 5, 5, None, 10)),
        ("INSERT INTO t VALUES (7, DEFAULT, 1, DEFAULT);", (7, 5, 1, None, 6)),
        ("INSERT INTO t (c, id, a) VALUES ('y', 7, 1 + 1);", (7, 2, 5, "y", 7)),
        ("INSERT INTO t (id, b) SELECT id + 1, b FROM t;", (2, 5, 20, None, 25)),
        ("INSERT INTO t (id, g) VALUES (7, DEFAULT);", (7, 5, 5, None, 10)),
    ],
)
def test_defaults_and_generated_columns_of_inserted_rows(sql: str, row: tuple[object, ...]) -> None:
    columns, found = rows_of(sql)
    given = dict(zip(columns, found, strict=True))
    assert tuple(given.get(name) for name in ("ID", "A", "B", "C", "G")) == row


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ("UPDATE t SET a = DEFAULT;", (1, 5, 20, "x", 25)),
        ("UPDATE t SET a = b, b = a;", (1, 20, 10, "x", 30)),
        (
            "UPDATE t SET a = s.n FROM (VALUES (1, 7), (1, 7), (2, 8)) AS s (id, n) "
            "WHERE t.id = s.id;",
            (1, 7, 20, "x", 27),
        ),
        ("UPDATE t SET c = DEFAULT WHERE id = 1;", (1, 10, 20, None, 30)),
    ],
)
def test_defaults_and_generated_columns_of_updated_rows(sql: str, row: tuple[object, ...]) -> None:
    _, *found = rows_of(sql)
    assert [each[1:] for each in found] == [row]


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO t (id, g) VALUES (1, 2);", "UPDATE t SET g = 1;"],
)
def test_a_generated_column_takes_no_value(sql: str) -> None:
    with pytest.raises(PlanError, match="column G of table T is generated"):
        rows_of(sql)


def test_rows_are_assigned_as_in_standard_sql() -> None:
    (statement,) = parse("INSERT INTO t (id, a, b) VALUES (1e1, '4', 2.5);")
    assert isinstance(plan(statement, catalog_of(TABLE), STANDARD), RowsPlan)


def test_a_table_over_a_topic_has_no_default() -> None:
    with pytest.raises(UnsupportedError, match="column A has NOT NULL, DEFAULT or AS"):
        catalog_of(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5) "
            "WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
        )


def test_a_view_of_standard_sql_is_planned_as_one() -> None:
    catalog = catalog_of(
        "CREATE VIEW numbers (n) AS SELECT * FROM generate_series(1, 3) LIMIT 2;"
        "CREATE VIEW doubled AS SELECT n * 2 AS d FROM numbers, (VALUES (1), (2)) AS v ORDER BY 1;"
    )
    assert list(catalog.views) == ["NUMBERS", "DOUBLED"]


def test_a_view_does_not_read_itself() -> None:
    views = "CREATE VIEW v AS SELECT 1 AS a; CREATE VIEW w AS SELECT a FROM v;"
    with pytest.raises(PlanError, match="view V reads itself"):
        catalog_of(f"{views} CREATE OR REPLACE VIEW v AS SELECT a FROM w;")
