"""Random queries as views over random changes, after each batch equal to DuckDB's answer.

python -m pytest tests/views/test_random_views.py      some thousand pairs of a query and a batch
STREAMSQL_VIEW_SEEDS=100:200 STREAMSQL_VIEW_BATCHES=100 ..    the queries of other seeds

The query, the changes and the restarts of a seed are made of its random numbers. A failing list of
numbers is shrunk: it becomes shorter and its numbers smaller for as long as the view differs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import pytest
import sqlglot
from relational.generator import INT as INTEGER
from relational.generator import TEXT, Generator, Pick, Replayed, Seeded, Table
from relational.small import comparable, query
from views.given_run import GivenRun
from views.view_run import TableDefinition, ViewRun

from streamsql.catalog import Catalog
from streamsql.errors import UnsupportedError
from streamsql.planner.relational.algebra import Scan, relations
from streamsql.planner.relational.planning import plan_query, plan_view
from streamsql.schema import Kind
from streamsql.test_driver.fixture import Fixture
from streamsql.types import INT, STRING, decimal

pytestmark = [pytest.mark.spark]

TABLES = (
    Table("t", (("a", INTEGER), ("b", INTEGER), ("c", TEXT)), key=1),
    Table("s", (("a", INTEGER), ("d", INTEGER), ("e", TEXT)), rows=40),
)
DEFINITIONS = [
    TableDefinition("T", {"A": INT, "B": INT, "C": STRING}),
    TableDefinition("S", {"A": INT, "D": decimal(8, 2), "E": STRING}, Kind.STREAM),
]
FIRST, LAST = map(int, os.environ.get("STREAMSQL_VIEW_SEEDS", "0:12").split(":"))
BATCHES = int(os.environ.get("STREAMSQL_VIEW_BATCHES", "172"))
SEEDS_OF_A_TEST = 4
MANY = 600
"""Seeds of the long test: more than 100,000 pairs."""
MOST_SHRINKS = 60
_NUMBERS = (None, 0, 1, 2, 3, -1)
_TEXTS = (None, "x", "y", "z", "")


def change(run: ViewRun, pick: Pick) -> None:
    """The changes of one batch, of which there may be none."""
    for _ in range(pick.number(8)):
        kind = pick.number(11)
        numbers = [_NUMBERS[pick.number(len(_NUMBERS) - 1)] for _ in range(2)]
        text = _TEXTS[pick.number(len(_TEXTS) - 1)]
        if kind <= 1:
            run.put("S", (*numbers, text))
        elif kind <= 9:
            run.put("T", (pick.number(6), numbers[0], text))
        else:
            run.delete("T", pick.number(6))


@dataclass
class Trial:
    """What came of the numbers of a pick."""

    text: str
    pairs: int = 0
    """How many batches were compared."""
    difference: str | None = None


def trial(fixture: Fixture, pick: Pick) -> Trial:
    size = 2 + pick.number(2)
    text = Generator(pick, TABLES, size=size).query()
    found = Trial(text)
    catalog = Catalog()
    for source in ViewRun.sources(DEFINITIONS):
        catalog.put(source)
    try:
        plan = plan_view(query(text), catalog)
    except UnsupportedError:
        return found
    if not any(isinstance(relation, Scan) for relation in relations(plan.root)):
        return found
    own = sqlglot.transpile(text, "postgres", "duckdb")[0]
    # With one partition a batch takes half as long.
    run = GivenRun(fixture, DEFINITIONS, plan, own, partitions=1 if pick.number(3) else 2)
    try:
        for batch in range(BATCHES):
            change(run, pick)
            if pick.number(63) == 63:
                run.repeat()
            run.flush()
            expected = comparable(list(run.expected().elements()))
            rows = comparable(list(run.rows().elements()))
            if rows != expected:
                expected = comparable(list(run.expected_without_optimizer().elements()))
            if rows != expected:
                found.difference = f"batch {batch}: {rows}, expected {expected}"
                return found
            found.pairs += 1
            if pick.number(63) == 63:
                run.stop()
        if pick.number(7) == 7:
            pulled = comparable(run.pulled(plan_query(query(text), catalog)))
            if pulled != expected:
                found.difference = f"pull query: {pulled}, expected {expected}"
    except duckdb.Error:
        pass
    finally:
        run.close()
    return found


def shrunk(numbers: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    """Fewer and smaller numbers that fail, too."""
    found, trials = list(numbers), 0
    size = len(found) // 2
    while size:
        place = 0
        while place < len(found) and trials < MOST_SHRINKS:
            part = found[place : place + size]
            for tried in ([], [0] * len(part), [n // 2 for n in part]):
                candidate = [*found[:place], *tried, *found[place + size :]]
                trials += candidate != found
                if candidate != found and fails(candidate):
                    found = candidate
                    break
            else:
                place += size
        size //= 2
    return found


def report(fixture: Fixture, seed: int, numbers: Sequence[int]) -> str:
    def fails(tried: Sequence[int]) -> bool:
        return trial(fixture, Replayed(tried)).difference is not None

    smallest = shrunk(numbers, fails)
    found = trial(fixture, Replayed(smallest))
    return f"seed {seed}, numbers {smallest}: {found.text}\n{found.difference}"


def check(fixture: Fixture, seeds: Sequence[int]) -> None:
    pairs = 0
    for seed in seeds:
        pick = Seeded(seed)
        found = trial(fixture, pick)
        assert found.difference is None, report(fixture, seed, pick.taken)
        pairs += found.pairs
    assert pairs >= BATCHES * len(seeds) // 2


@pytest.mark.parametrize("first", range(FIRST, LAST, SEEDS_OF_A_TEST))
def test_random_views_are_their_queries(fixture: Fixture, first: int) -> None:
    check(fixture, range(first, min(first + SEEDS_OF_A_TEST, LAST)))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_000 + MANY, MANY // 20))
def test_many_random_views_are_their_queries(fixture: Fixture, first: int) -> None:
    check(fixture, range(first, first + MANY // 20))
