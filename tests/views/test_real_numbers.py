"""Views over DOUBLEs, whose sums depend on the order of their summands: each batch retracts what
the one before has added, to the last bit."""

from __future__ import annotations

import random

import pytest
from relational.small import comparable, query
from views.given_run import GivenRun
from views.view_run import TableDefinition, ViewRun

from streamsql.catalog import Catalog
from streamsql.planner.relational.planning import plan_view
from streamsql.schema import Kind
from streamsql.test_driver.fixture import Fixture
from streamsql.types import DOUBLE, INT, STRING

pytestmark = [pytest.mark.spark]

TABLES = (
    TableDefinition("T", {"ID": INT, "A": STRING, "X": DOUBLE}),
    TableDefinition("S", {"A": STRING, "X": DOUBLE}, Kind.STREAM),
)
QUERIES = (
    "SELECT a, SUM(x), COUNT(*) FROM s GROUP BY ROLLUP (a)",
    "SELECT SUM(x), AVG(x), STDDEV(x) FROM t GROUP BY a",
    "SELECT MAX(u.total) FROM (SELECT a, SUM(x) AS total FROM t GROUP BY a) AS u",
)


@pytest.mark.parametrize("text", QUERIES)
def test_no_row_of_an_earlier_sum_is_left(fixture: Fixture, text: str) -> None:
    chance = random.Random(text)
    catalog = Catalog(sources={source.name: source for source in ViewRun.sources(TABLES)})
    run = GivenRun(fixture, TABLES, plan_view(query(text), catalog), text)
    try:
        for _ in range(40):
            for _ in range(chance.randint(1, 6)):
                a, x = chance.choice("xyz"), chance.uniform(0, 10)
                run.put("S", (a, x))
                run.put("T", (chance.randint(1, 30), a, x))
            run.flush()
            expected = comparable(list(run.expected().elements()))
            assert comparable(list(run.rows().elements())) == expected
    finally:
        run.close()
