"""The order in which queries that feed each other catch up."""

from __future__ import annotations

from streamsql.catalog import Catalog, QueryLinks
from streamsql.runtime.catch_up import in_order


def levels(*queries: tuple[str, tuple[str, ...], str]) -> list[list[str]]:
    catalog = Catalog()
    for query_id, reads, writes in queries:
        catalog.queries[query_id] = QueryLinks(query_id, reads, writes)
    return in_order(catalog)


def test_readers_come_after_writers() -> None:
    assert levels(("c", ("B",), "C"), ("a", ("X",), "A"), ("b", ("A",), "B")) == [
        ["a"],
        ["b"],
        ["c"],
    ]


def test_independent_queries_share_a_level() -> None:
    assert levels(("a", ("X",), "A"), ("b", ("X",), "B"), ("c", ("A", "B"), "C")) == [
        ["a", "b"],
        ["c"],
    ]


def test_a_circle_ends() -> None:
    assert levels(("a", ("B",), "A"), ("b", ("A",), "B"), ("x", ("A",), "X")) == [
        ["a", "b", "x"],
    ]
