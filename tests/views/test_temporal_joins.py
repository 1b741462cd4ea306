"""Temporal joins over random changes, after each batch equal to what arrived when."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from views.by_hand import expression, plan, scan, stream
from views.given_run import GivenRun
from views.view_run import Row, TableDefinition, ViewRun

from streamsql.planner.relational.algebra import JoinKind, RelationalPlan, TemporalJoin
from streamsql.schema import Kind
from streamsql.test_driver.fixture import Fixture
from streamsql.types import BOOLEAN, INT, STRING

pytestmark = [pytest.mark.spark]

PRICES = TableDefinition("prices", {"id": INT, "item": INT, "price": INT})
ORDERS = TableDefinition("orders", {"id": INT, "item": INT, "most": INT})
EVENTS = TableDefinition("events", {"item": INT, "most": INT, "note": STRING}, Kind.STREAM)
BATCHES = 16


def joined(left: TableDefinition, kind: JoinKind, *, condition: bool) -> RelationalPlan:
    """Orders or events with the prices of their item: equal rows among them, and nulls."""
    rows = (
        scan(left.name, "o", left.columns, ["id"])
        if left.kind is Kind.TABLE
        else stream(left.name, "o", left.columns)
    )
    prices = scan("prices", "p", PRICES.columns, ["id"])
    both = (*rows.fields, *prices.fields)
    met = expression("omost >= pprice", both, BOOLEAN) if condition else None
    equality = expression("oitem", rows, INT), expression("pitem", prices, INT)
    root = TemporalJoin(rows, prices, kind, (equality,), met)
    return plan(root, [f.id for f in root.fields], None)


@dataclass
class Model:
    """The rows that the join has, by the left rows that have made them."""

    kind: JoinKind
    condition: bool
    prices: dict[int, Row] = field(default_factory=dict)
    made: dict[int, tuple[Row, list[Row]]] = field(default_factory=dict)

    def batch(self, prices: dict[int, Row | None], left: dict[int, Row | None]) -> None:
        for key, row in prices.items():
            self.prices.pop(key, None)
            if row is not None:
                self.prices[key] = row
        for key, row in left.items():
            if row is not None and self.made.get(key, (None,))[0] == row:
                continue
            self.made.pop(key, None)
            if row is not None:
                self.made[key] = row, self.pairs(row)

    def pairs(self, row: Row) -> list[Row]:
        item, most = row[-3:-1] if isinstance(row[-1], str) else row[-2:]
        found = [
            (*row, *price)
            for price in self.prices.values()
            if item is not None
            and price[1] == item
            and (not self.condition or None not in (most, price[2]) and most >= price[2])
        ]
        if found or self.kind is JoinKind.INNER:
            return found
        return [(*row, None, None, None)]

    def rows(self) -> Counter[Row]:
        return Counter(row for _, pairs in self.made.values() for row in pairs)


@pytest.mark.variants(every=3)
@pytest.mark.parametrize("condition", [False, True], ids=["equality", "condition"])
@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.INNER], ids=["left", "inner"])
@pytest.mark.parametrize("left", [ORDERS, EVENTS], ids=["table", "stream"])
def test_a_row_is_joined_when_it_arrives(
    fixture: Fixture, left: TableDefinition, kind: JoinKind, condition: bool
) -> None:
    chance = random.Random(f"{left.name} {kind} {condition}")
    run = GivenRun(fixture, [left, PRICES], joined(left, kind, condition=condition), "")
    model = Model(kind, condition)
    number = 0
    try:
        for step in range(BATCHES):
            prices: dict[int, Row | None] = {}
            rows: dict[int, Row | None] = {}
            for _ in range(chance.randint(0, 8)):
                item, amount = (chance.choice([None, 1, 2, 3]) for _ in range(2))
                key = chance.randint(1, 6)
                if chance.random() < 0.4:
                    prices[key] = (key, item, amount) if chance.random() < 0.7 else None
                elif left is EVENTS:
                    number += 1
                    rows[number] = (item, amount, "n")
                else:
                    rows[key] = (key, item, amount) if chance.random() < 0.7 else None
            for name, changes in (("prices", prices), (left.name, rows)):
                for key, row in changes.items():
                    if row is None:
                        run.delete(name, key)
                    else:
                        run.put(name, row)
            model.batch(prices, rows)
            if step % 5 == 2:
                run.repeat()
            if step % 7 == 3:
                run.stop()
            run.flush()
            found, expected = run.rows(), model.rows()
            assert found == expected, f"{step}: {found - expected}, missing {expected - found}"
    finally:
        run.close()


def test_history_is_one_batch(fixture: Fixture) -> None:
    """Its first rows are not joined with rows that were replaced later in it."""
    relation = joined(ORDERS, JoinKind.LEFT, condition=False)
    run = ViewRun(fixture, [ORDERS, PRICES], relation, "", records_per_batch=1)
    run.put("orders", (1, 1, 1), (2, 2, 2))
    run.put("prices", (1, 1, 10), (1, 1, 11), (2, 2, 20))
    try:
        run.flush()
        assert run.rows() == Counter([(1, 1, 1, 1, 1, 11), (2, 2, 2, 2, 2, 20)])
    finally:
        run.stop()
