"""Random queries as views over random changes, after each flush equal to DuckDB's answer.

python -m pytest tests/views/test_random_views.py    the seeds below
STREAMSQL_VIEW_SEEDS=100:200 ..                      others
"""

from __future__ import annotations

import os
import random

import duckdb
import pytest
import sqlglot
from relational.generator import INT as INTEGER
from relational.generator import TEXT, Generator, Seeded, Table
from relational.small import comparable, query
from views.view_run import TableDefinition, ViewRun

from streamsql.catalog import Catalog
from streamsql.errors import UnsupportedError
from streamsql.planner.relational.planning import plan_view
from streamsql.schema import Kind
from streamsql.test_driver.fixture import Fixture
from streamsql.types import BIGINT, INT, STRING

pytestmark = [pytest.mark.spark]

TABLES = (
    Table("t", (("a", INTEGER), ("b", INTEGER), ("c", TEXT)), key=1),
    Table("s", (("a", INTEGER), ("d", INTEGER), ("e", TEXT))),
)
DEFINITIONS = [
    TableDefinition("T", {"A": INT, "B": INT, "C": STRING}),
    TableDefinition("S", {"A": INT, "D": BIGINT, "E": STRING}, Kind.STREAM),
]
FIRST, LAST = map(int, os.environ.get("STREAMSQL_VIEW_SEEDS", "0:8").split(":"))
BATCHES = 4


def change(run: ViewRun, chance: random.Random) -> None:
    numbers, texts = [None, 0, 1, 2, 3, 5], [None, "x", "y", "z", ""]
    for _ in range(chance.randint(1, 8)):
        kind = chance.random()
        if kind < 0.4:
            run.put("S", (chance.choice(numbers), chance.choice(numbers), chance.choice(texts)))
        elif kind < 0.8:
            run.put("T", (chance.randint(0, 6), chance.choice(numbers), chance.choice(texts)))
        else:
            run.delete("T", chance.randint(0, 6))


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_a_random_view_is_its_query(fixture: Fixture, seed: int) -> None:
    text = Generator(Seeded(seed), TABLES, size=2 + seed % 3).query()
    catalog = Catalog()
    blank = ViewRun.sources(DEFINITIONS)
    for source in blank:
        catalog.put(source)
    try:
        plan = plan_view(query(text), catalog)
    except UnsupportedError as error:
        pytest.skip(error.message)
    run = ViewRun(fixture, DEFINITIONS, plan, sqlglot.transpile(text, "postgres", "duckdb")[0])
    if not run.view.scans:
        pytest.skip("it reads no table")
    chance = random.Random(seed)
    try:
        for batch in range(BATCHES):
            change(run, chance)
            run.flush()
            try:
                expected = comparable(list(run.expected().elements()))
            except duckdb.Error as error:
                pytest.skip(str(error))
            found = comparable(list(run.rows().elements()))
            assert found == expected, f"batch {batch}: {text}"
            if batch == 1:
                run.stop()
    finally:
        run.stop()
