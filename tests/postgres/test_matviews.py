"""Materialized views in the system catalog."""

from __future__ import annotations

from streamsql.postgres.relations.contents import Relation, contents
from streamsql.schema import Column
from streamsql.types import INT

TEXT = "CREATE MATERIALIZED VIEW V AS SELECT A FROM T;"


def test_a_materialized_view_is_in_pg_matviews_alone() -> None:
    view = Relation("v", (Column("A", INT),), (), "", TEXT, materialized=True)
    assert view.kind == "m"
    found = contents([view])
    (listed,) = found["pg_matviews"]
    assert "v" in listed
    assert TEXT in listed
    assert found["pg_views"] == []
