"""TPC-H as views over tables that change, after each batch equal to the answers of DuckDB."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest
from views.given_run import GivenDataflow, GivenRecord

from benchmarks.tpch import (
    SETTINGS,
    Expected,
    all_queries,
    difference,
    query_text,
    record,
    tables_text,
)
from benchmarks.tpch_rows import KEYS, Change, Database, Row
from streamsql.catalog import Catalog
from streamsql.parser import parse
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from streamsql.schema import ROW_KEY
from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark]

SCALE = 0.0005
CHANGES = 300
BATCHES = 4


class House:
    """The tables, in a catalog and as records; their changes are the same for each query."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        for statement in parse(tables_text()):
            apply(plan(statement, self.catalog, SETTINGS), self.catalog)
        database = Database(SCALE)
        expected, changes = Expected(database), database.changes()
        filled = [(t, key, row) for t in KEYS for key, row in database.rows(t).items()]
        self.batches = [[given(change) for change in filled]]
        self.answers = [answers(expected)]
        for _ in range(BATCHES):
            self.batches.append([given(change) for change in islice(changes, CHANGES)])
            self.answers.append(answers(expected))


def answers(expected: Expected) -> dict[str, list[Row]]:
    expected.load()
    return {name: expected.rows(name) for name in all_queries()}


def given(change: Change) -> GivenRecord:
    table, key, value = record(change)
    return [table.upper(), key, value]


@pytest.fixture(scope="module")
def house() -> House:
    return House()


@pytest.mark.variants(every=3)
@pytest.mark.parametrize("name", all_queries())
def test_a_view_is_its_query(fixture: Fixture, house: House, name: str) -> None:
    (statement,) = parse(f"CREATE MATERIALIZED VIEW {name} AS {query_text(name)};")
    planned = plan(statement, house.catalog, SETTINGS)
    assert isinstance(planned, QueryStatementPlan) and planned.sink is not None
    view, shown = GivenDataflow(fixture, planned.query, f"tpch-{name}"), planned.sink.shown
    rows: dict[str, dict[str, Any]] = {}
    try:
        for number, (batch, answers) in enumerate(zip(house.batches, house.answers, strict=True)):
            records = [each for each in batch if each[0] in planned.query.reads]
            if number == 2:
                view.repeat(records)
            for key, value in view.batch(records):
                if value is None:
                    del rows[key]
                    continue
                cells = json.loads(key) if planned.sink.schema.key[0].name != ROW_KEY else None
                names = [c.name for c in planned.sink.schema.key]
                keys = cells if isinstance(cells, dict) else {names[0]: cells}
                rows[key] = {**keys, **value}
            found = [tuple(cells[c.name] for c in shown) for cells in rows.values()]
            assert difference(found, answers[name]) is None, f"batch {number}"
            if number == 3:
                view.restart()
    finally:
        view.close()
