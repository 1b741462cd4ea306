"""GAP_FILL: the rows of its plan, against a query of DuckDB in other words."""

from __future__ import annotations

import pytest

from streamsql.planner.relational.planning import plan_view, standard_plan
from tests.relational import small
from tests.relational.duckdb_text import plan_text


def between(step: str, partition: str | None = None) -> str:
    """Each step between two rows of P between which there is no other."""
    same = f"a.{partition} = b.{partition}" if partition else "TRUE"
    inside = f"c.{partition} = a.{partition}" if partition else "TRUE"
    return f"""
        SELECT a.K, a.L, a.M, a.X, b.M AS M2, b.X AS X2, a.AT AS F, b.AT AS U,
            UNNEST(generate_series(a.AT + INTERVAL '{step}', b.AT - INTERVAL '1 microsecond',
                INTERVAL '{step}')) AS "AT"
        FROM P a JOIN P b ON a.AT < b.AT AND {same} AND NOT EXISTS
            (SELECT 1 FROM P c WHERE c.AT > a.AT AND c.AT < b.AT AND {inside})
    """


SHARE = "(epoch_us(t.AT) - epoch_us(F)) / (epoch_us(U) - epoch_us(F))"
OWN = "SELECT K, L, M, X, P.AT, DAY FROM P UNION ALL "


@pytest.mark.parametrize(
    ("filled", "judge"),
    [
        (
            "gap_fill(p, at, interval '7 days')",
            f"{OWN} SELECT NULL, NULL, NULL, NULL, t.AT, NULL FROM ({between('7 days')}) t",
        ),
        (
            "gap_fill(p, at, interval '10 hours', locf(m), keep(l), partition_by(k))",
            f"{OWN} SELECT K, NULL, M, NULL, t.AT, NULL FROM ({between('10 hours', 'K')}) t",
        ),
        (
            "gap_fill(p, at, '5 days', interpolate(x), locf(l), locf(k))",
            f"{OWN} SELECT K, L, NULL, X + (X2 - X) * {SHARE}, t.AT, NULL "
            f"FROM ({between('5 days')}) t",
        ),
        (
            "gap_fill(p, at, interval '1 month', interpolate(m), locf(x), partition_by(l))",
            f"{OWN} SELECT NULL, L, CAST(M + (M2 - M) * {SHARE} AS DECIMAL(10, 2)), X, t.AT, NULL "
            f"FROM ({between('1 month', 'L')}) t",
        ),
    ],
)
def test_rows_between_those_of_a_series(filled: str, judge: str) -> None:
    database = small.database()
    query = small.query(f"SELECT * FROM {filled}")
    plan = standard_plan(query, small.catalog())
    expected = small.comparable(database.execute(judge).fetchall())
    assert len(expected) >= len(small.ROWS["P"].split("),"))
    assert small.comparable(database.execute(plan_text(plan)).fetchall()) == expected
    assert plan_view(query, small.catalog()).output


def test_days_between_dates() -> None:
    database = small.database()
    query = small.query("SELECT day, k FROM gap_fill(p, day, interval '20 days', locf(k))")
    found = database.execute(plan_text(standard_plan(query, small.catalog()))).fetchall()
    assert sorted((str(day), k) for day, k in found) == [
        ("2024-01-01", 1),
        ("2024-01-21", 1),
        ("2024-01-31", 1),
        ("2024-02-20", 1),
        ("2024-02-29", 2),
        ("None", 3),
    ]


def test_the_relation_may_be_a_query_of_with() -> None:
    database = small.database()
    text = (
        "WITH q AS (SELECT k, at FROM p WHERE k = 1) "
        "SELECT z.at FROM gap_fill(q, at, interval '10 days') AS z WHERE z.k IS NULL"
    )
    plan = standard_plan(small.query(text), small.catalog())
    days = sorted(str(at)[:10] for (at,) in database.execute(plan_text(plan)).fetchall())
    assert days == ["2024-01-11", "2024-01-21", "2024-01-31"]
