"""SELECTs that mean the same in both dialects, which stores answer without Spark."""

from __future__ import annotations

import pytest

from streamsql.planner.pull.standard import is_common
from tests.relational.small import query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t",
        "SELECT a, b FROM t x WHERE a = 1 AND (b > 2 OR b <= -5)",
        "SELECT a FROM t WHERE a BETWEEN 1 AND 2 LIMIT 3 OFFSET 1",
    ],
)
def test_a_plain_select(text: str) -> None:
    assert is_common(query(text))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a + 1 FROM t",
        "SELECT DISTINCT a FROM t",
        "SELECT a FROM t WHERE a = b + 1",
        "SELECT a FROM t WHERE a = NULL",
        "SELECT a FROM t WHERE a IN (SELECT a FROM s)",
        "SELECT a FROM t ORDER BY a",
        "SELECT count(*) FROM t",
        "SELECT t.a FROM t, s",
        "SELECT x FROM t AS u (x)",
        "SELECT a FROM t GROUP BY a",
        "SELECT a FROM t UNION SELECT a FROM s",
        "WITH s AS (SELECT a FROM t) SELECT a FROM s",
    ],
)
def test_a_select_of_standard_sql_alone(text: str) -> None:
    assert not is_common(query(text))
