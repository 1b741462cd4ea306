"""Views over tables that change, after each flush equal to DuckDB over the same rows."""

from __future__ import annotations

import random
from typing import Any

import pytest
from views.by_hand import expression, field, plan, scan, stream
from views.view_run import TableDefinition, ViewRun

from streamsql.planner.relational.algebra import (
    Aggregate,
    Field,
    Join,
    JoinKind,
    Project,
    RelationalPlan,
    SetKind,
    SetOperation,
    TopRows,
    WindowFunctions,
)
from streamsql.schema import Kind
from streamsql.test_driver.fixture import Fixture
from streamsql.types import BIGINT, BOOLEAN, INT, STRING

pytestmark = [pytest.mark.spark]

CUSTOMERS = TableDefinition("customers", {"id": INT, "region": STRING})
ORDERS = TableDefinition("orders", {"id": INT, "customer": INT, "amount": INT})
TABLES = [CUSTOMERS, ORDERS]


def customers(prefix: str = "c") -> Any:
    return scan("customers", prefix, CUSTOMERS.columns, ["id"])


def orders(prefix: str = "o") -> Any:
    return scan("orders", prefix, ORDERS.columns, ["id"])


def joined(kind: JoinKind, condition: str | None = None) -> Join:
    left, right = orders(), customers()
    both = (*left.fields, *right.fields)
    met = None if condition is None else expression(condition, both, BOOLEAN)
    equality = expression("ocustomer", left, INT), expression("cid", right, INT)
    return Join(left, right, kind, (equality,), met)


def sums_by_region() -> tuple[RelationalPlan, str]:
    rows = joined(JoinKind.INNER)
    region = field(rows, "cregion")
    total, count = Field("total", "total", BIGINT), Field("n", "n", BIGINT)
    root = Aggregate(
        rows,
        (region,),
        (
            (total, expression("SUM(oamount)", rows, BIGINT)),
            (count, expression("COUNT(*)", rows, BIGINT)),
        ),
    )
    text = (
        "SELECT region, SUM(amount)::BIGINT, COUNT(*) FROM orders JOIN customers ON customer = "
        "customers.id GROUP BY region"
    )
    return plan(root, ["cregion", "total", "n"], ["cregion"]), text


def extremes_by_region() -> tuple[RelationalPlan, str]:
    rows = joined(JoinKind.INNER)
    least, most = Field("least", "least", INT), Field("most", "most", INT)
    root = Aggregate(
        rows,
        (field(rows, "cregion"),),
        (
            (least, expression("MIN(oamount)", rows, INT)),
            (most, expression("MAX(oamount) FILTER (WHERE oid > 3)", rows, INT)),
        ),
    )
    text = (
        "SELECT region, MIN(amount), MAX(amount) FILTER (WHERE orders.id > 3) FROM orders JOIN "
        "customers ON customer = customers.id GROUP BY region"
    )
    return plan(root, ["cregion", "least", "most"], ["cregion"]), text


def of_all() -> tuple[RelationalPlan, str]:
    rows = orders()
    most, count = Field("most", "most", INT), Field("n", "n", BIGINT)
    root = Aggregate(
        rows,
        (),
        (
            (most, expression("MAX(oamount)", rows, INT)),
            (count, expression("COUNT(DISTINCT ocustomer)", rows, BIGINT)),
        ),
    )
    return plan(root, ["most", "n"], []), "SELECT MAX(amount), COUNT(DISTINCT customer) FROM orders"


def outer(kind: JoinKind, condition: str | None = None) -> tuple[RelationalPlan, str]:
    root = joined(kind, condition)
    met = f" AND {condition}" if condition else ""
    for name in ("id", "customer", "amount"):
        met = met.replace(f"o{name}", f"o.{name}")
    met = met.replace("cregion", "c.region")
    on = f"o.customer = c.id{met}"
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        text = f"SELECT o.* FROM orders o {kind.value} JOIN customers c ON {on}"
        return plan(root, [f.id for f in root.fields], ["oid"]), text
    text = f"SELECT o.*, c.* FROM orders o {kind.value} JOIN customers c ON {on}"
    return plan(root, [f.id for f in root.fields], None), text


def regions() -> tuple[RelationalPlan, str]:
    rows = customers()
    region = field(rows, "cregion")
    return plan(
        Aggregate(rows, (region,)), ["cregion"], None
    ), "SELECT DISTINCT region FROM customers"


def without_orders(kind: SetKind, every: bool) -> tuple[RelationalPlan, str]:
    left, right = customers(), orders()
    ids = [
        Project(rows, ((Field(name, name, INT), expression(text, rows, INT)),))
        for rows, name, text in ((left, "a", "cid % 4"), (right, "b", "ocustomer % 4"))
    ]
    root = SetOperation(ids[0], ids[1], kind, every, (Field("id", "id", INT),))
    word = kind.value + (" ALL" if every else "")
    text = f"SELECT id % 4 FROM customers {word} SELECT customer % 4 FROM orders"
    return plan(root, ["id"], None), text


def ranks() -> tuple[RelationalPlan, str]:
    rows = orders()
    over = "PARTITION BY ocustomer ORDER BY oamount DESC, oid"
    rank, before = Field("rank", "rank", INT), Field("before", "before", INT)
    root = WindowFunctions(
        rows,
        (field(rows, "ocustomer"),),
        (
            (rank, expression(f"RANK() OVER ({over})", rows, INT)),
            (before, expression(f"LAG(oamount) OVER ({over})", rows, INT)),
        ),
    )
    text = (
        "SELECT *, RANK() OVER w, LAG(amount) OVER w FROM orders "
        "WINDOW w AS (PARTITION BY customer ORDER BY amount DESC, id)"
    )
    return plan(root, [f.id for f in root.fields], ["oid"]), text


def largest() -> tuple[RelationalPlan, str]:
    rows = orders()
    order = expression("ROW_NUMBER() OVER (ORDER BY oamount DESC NULLS LAST, oid)", rows, INT)
    root = TopRows(rows, (), tuple(order.args["order"].expressions), 3, 1)
    text = "SELECT * FROM orders ORDER BY amount DESC NULLS LAST, id LIMIT 3 OFFSET 1"
    return plan(root, [f.id for f in root.fields], ["oid"]), text


VIEWS = {
    "inner join, grouped": sums_by_region,
    "minima and maxima": extremes_by_region,
    "aggregates of all rows": of_all,
    "left join": lambda: outer(JoinKind.LEFT),
    "full join": lambda: outer(JoinKind.FULL),
    "semi join": lambda: outer(JoinKind.SEMI),
    "anti join": lambda: outer(JoinKind.ANTI),
    "left join, condition": lambda: outer(JoinKind.LEFT, "oamount > 20 AND cregion <> 'r1'"),
    "full join, condition": lambda: outer(JoinKind.FULL, "oamount > 20 AND cregion <> 'r1'"),
    "semi join, condition": lambda: outer(JoinKind.SEMI, "oamount > 20 AND cregion <> 'r1'"),
    "anti join, condition": lambda: outer(JoinKind.ANTI, "oamount > 20 AND cregion <> 'r1'"),
    "distinct": regions,
    "except": lambda: without_orders(SetKind.EXCEPT, False),
    "except all": lambda: without_orders(SetKind.EXCEPT, True),
    "intersect": lambda: without_orders(SetKind.INTERSECT, False),
    "intersect all": lambda: without_orders(SetKind.INTERSECT, True),
    "window functions": ranks,
    "first rows": largest,
}


def change(run: ViewRun, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 12)):
        key = chance.randint(1, 10)
        if chance.random() < 0.25:
            run.delete(chance.choice(["customers", "orders"]), key)
        elif chance.random() < 0.4:
            run.put("customers", (key, chance.choice([None, "r1", "r2", "r3"])))
        else:
            customer = chance.choice([None, *range(1, 8)])
            run.put("orders", (key, customer, chance.choice([None, 10, 20, 30, 40])))


@pytest.mark.variants(every=3)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_its_query(fixture: Fixture, name: str) -> None:
    relation, text = VIEWS[name]()
    run = ViewRun(fixture, TABLES, relation, text)
    chance = random.Random(name)
    try:
        for step in range(6):
            change(run, chance)
            run.check()
            if step == 3:
                run.stop()  # and resumes from its checkpoint
    finally:
        run.stop()


# -- one cut a batch -----------------------------------------------------------------------------

TRANSFERS = TableDefinition(
    "transfers", {"id": INT, "source": INT, "target": INT, "amount": INT}, Kind.STREAM
)


def balances() -> Project:
    """What each account has: the same topic twice, grouped by either end."""
    sums = []
    for prefix, end in (("c", "target"), ("d", "source")):
        rows = stream("transfers", prefix, TRANSFERS.columns)
        account = field(rows, prefix + end)
        total = Field(prefix + "total", prefix + "total", BIGINT)
        call = expression(f"SUM({prefix}amount)", rows, BIGINT)
        sums.append(Aggregate(rows, (account,), ((total, call),)))
    credits, debits = sums
    equality = expression("ctarget", credits, INT), expression("dsource", debits, INT)
    both = Join(credits, debits, JoinKind.FULL, (equality,))
    account, balance = Field("account", "account", INT), Field("balance", "balance", BIGINT)
    return Project(
        both,
        (
            (account, expression("COALESCE(ctarget, dsource)", both, INT)),
            (balance, expression("COALESCE(ctotal, 0) - COALESCE(dtotal, 0)", both, BIGINT)),
        ),
    )


def test_no_record_of_a_view_shows_a_moment_within_a_batch(fixture: Fixture) -> None:
    rows = balances()
    total, accounts = Field("total", "total", BIGINT), Field("accounts", "accounts", BIGINT)
    root = Aggregate(
        rows,
        (),
        (
            (total, expression("SUM(balance)", rows, BIGINT)),
            (accounts, expression("COUNT(*)", rows, BIGINT)),
        ),
    )
    text = (
        "WITH c AS (SELECT target AS a, SUM(amount) AS s FROM transfers GROUP BY target), "
        "d AS (SELECT source AS a, SUM(amount) AS s FROM transfers GROUP BY source) "
        "SELECT SUM(COALESCE(c.s, 0) - COALESCE(d.s, 0))::BIGINT, COUNT(*) "
        "FROM c FULL JOIN d ON c.a = d.a"
    )
    run = ViewRun(fixture, [TRANSFERS], plan(root, ["total", "accounts"], []), text)
    chance = random.Random(34)
    try:
        for step in range(8):
            more = [(i, *chance.sample(range(10), 2), 1) for i in range(chance.randint(1, 200))]
            run.put("transfers", *more)
            run.check()
            if step == 4:
                run.stop()
    finally:
        run.stop()
    shown = [value for _, value in run.records() if value is not None]
    assert shown
    assert [value for value in shown if value["total"] != 0] == []
