"""Names of columns without an alias, as PostgreSQL gives them."""

from __future__ import annotations

import pytest

from streamsql.postgres.sql.column_names import column_names


@pytest.mark.parametrize(
    ("items", "given", "names"),
    [
        ("COUNT(*), max(a) FILTER (WHERE b)", "ksql_col_0 ksql_col_1", "count max"),
        ("a.host, b.host, c", "a_host b_host c", "host host c"),
        ('"o"."Item"', "o_Item", "Item"),
        ("a + 1, 'x', -a", "ksql_col_0 ksql_col_1 ksql_col_2", "?column? ?column? ?column?"),
        ("a::text, (b)::text, f(x)::int", "ksql_col_0 ksql_col_1 ksql_col_2", "a b f"),
        (
            "1::text, CAST(1 AS text), CAST(a AS text)",
            "ksql_col_0 ksql_col_1 ksql_col_2",
            "text text a",
        ),
        (
            "CASE WHEN a THEN 1 END, CASE WHEN a THEN b ELSE c END",
            "ksql_col_0 ksql_col_1",
            "case c",
        ),
        ("EXTRACT(HOUR FROM t)", "ksql_col_0", "extract"),
        ("sum(a) OVER (ORDER BY b), sum(a) / 2", "ksql_col_0 ksql_col_1", "sum ?column?"),
        ("f(a, g(b, c)), a[1]", "ksql_col_0 ksql_col_1", "f ?column?"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY a)", "ksql_col_0", "percentile_cont"),
        ("count(*) AS n, count(*) m", "n m", "n m"),
        ("*, count(*)", "a b ksql_col_0", "a b ksql_col_0"),
        ("t.*", "a", "a"),
    ],
)
def test_names(items: str, given: str, names: str) -> None:
    for text in (
        f"SELECT {items} FROM t",
        f"select distinct {items} from t;",
        f"WITH w AS (SELECT 1, 2, 3, 4) SELECT {items} FROM w UNION SELECT 1 FROM t",
    ):
        assert column_names(text, tuple(given.split())) == tuple(names.split())
    assert column_names("TABLE t", tuple(given.split())) == tuple(given.split())
