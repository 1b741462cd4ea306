"""What is taken out of a query's text for sqlglot is no part of its literals and names."""

from __future__ import annotations

import pytest

from streamsql.postgres.relations.rewriting import _readable


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("SELECT 'OPERATOR(pg_catalog.=)'", "SELECT 'OPERATOR(pg_catalog.=)'"),
        ("SELECT a OPERATOR(pg_catalog.=) 'a'", "SELECT a pg_catalog.= 'a'"),
        ("SELECT 'x COLLATE \"C\"'", "SELECT 'x COLLATE \"C\"'"),
        ("SELECT x COLLATE \"default\", 'y'", "SELECT x , 'y'"),
        ("SELECT '::oid[]', 'it''s ::\"char\"'", "SELECT '::oid[]', 'it''s ::\"char\"'"),
        ('SELECT x::"char", y::oid[]', "SELECT x::text, y::bigint[]"),
        ('SELECT 1 AS "OPERATOR(a)"', 'SELECT 1 AS "OPERATOR(a)"'),
        ('SELECT 1 AS "a COLLATE ""C"""', 'SELECT 1 AS "a COLLATE ""C"""'),
    ],
)
def test_only_sql_is_rewritten(text: str, readable: str) -> None:
    assert _readable(text) == readable
