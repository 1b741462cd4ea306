"""dbt builds a project on a real server: what is built again without a change is left alone, and
what has changed continues from its state. `make dbt` makes the environment that dbt has of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from awaiting import await_until
from server.live import SECONDS, LiveServer

from streamsql.api.backup import entries_of_engine

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "dbt" / "bin" / "python"
PROJECT = Path(__file__).parent / "dbt_project"
DRIVER = Path(__file__).parent / "clients" / "drive_dbt.py"
MODELS = ("shop_customers", "shop_large", "shop_orders", "shop_paid", "shop_spent")

Dbt = Callable[..., dict[str, Any]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


@pytest.fixture(scope="module")
def runner(server: LiveServer) -> Iterator[Dbt]:
    """Runs a command of dbt's: what came of it, by the names of models and tests."""
    if not PYTHON.exists():
        pytest.skip("dbt has no environment here: `make dbt` makes it")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        [PYTHON, DRIVER],
        env=env | {"STREAMSQL_URL": server.url},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def run(*args: str) -> dict[str, Any]:
            print(json.dumps(args), file=stdin, flush=True)
            found: dict[str, Any] = json.loads(stdout.readline())
            return found

        yield run
        stdin.close()


@pytest.fixture
def dbt(runner: Dbt, project: Path) -> Dbt:
    """The same for the project."""
    return lambda *args: runner(
        *args, "--project-dir", str(project), "--profiles-dir", str(project)
    )


def of_models(found: dict[str, Any]) -> dict[str, str]:
    """What became of the models."""
    said = {n: r["message"] for n, r in found["results"].items() if n in MODELS}
    return dict(sorted(said.items()))


def of_tests(found: dict[str, Any]) -> dict[str, int]:
    """The failures of the tests that fail."""
    return {n: r["failures"] for n, r in found["results"].items() if r["status"] == "fail"}


def rows(server: LiveServer, sql: str) -> list[Any]:
    answer = server.query(sql).json()
    return sorted(each["row"]["columns"] for each in answer if "row" in each)


def statements(server: LiveServer) -> list[str]:
    """The statement log."""
    return [entry.sql for entry in entries_of_engine(server.engine._config)]


def order(number: int, customer: str, price: str, status: str = "paid") -> dict[str, Any]:
    return {"id": f"o{number}", "customer": customer, "status": status, "price": price}


def test_a_project_is_built_and_built_again_and_continues_after_a_change(
    server: LiveServer, dbt: Dbt, project: Path
) -> None:
    first = dbt("build")
    assert (first["success"], of_models(first)) == (True, dict.fromkeys(MODELS, "created")), first
    (query,) = [q for q in server.engine.queries() if q.sink == "SHOP_SPENT"]
    assert query.guarantee == "exactly_once"

    server.insert("shop_customers", {"id": "ann", "name": "Ann"}, {"id": "bob", "name": "Bob"})
    server.insert("shop_orders", order(1, "ann", "8.00"), order(2, "ann", "4.00"))
    server.insert("shop_orders", order(3, "bob", "1.00"), order(4, "bob", "9.00", "open"))
    spent = "SELECT customer, n, total FROM shop_spent;"
    await_until(lambda: rows(server, spent) == [["ann", 2, 12.0], ["bob", 1, 1.0]], spent, SECONDS)

    before = statements(server)
    again = dbt("build")
    assert (again["success"], of_tests(again)) == (True, {}), again
    assert of_models(again) == dict.fromkeys(MODELS, "unchanged")
    assert statements(server) == before

    shutil.copytree(project / "changed", project / "models", dirs_exist_ok=True)
    changed = dbt("build")
    in_place = "changed (class 2, continues from its checkpoint)"
    expected = dict.fromkeys(MODELS, "unchanged") | {"shop_paid": in_place, "shop_spent": in_place}
    assert (changed["success"], of_models(changed)) == (True, expected), changed
    server.insert("shop_orders", order(5, "ann", "3.00"), order(6, "bob", "0.50"))
    server.insert("shop_orders", order(7, "cyd", "20.00"), order(8, "cyd", "1.00", "lost"))
    spent = "SELECT customer, n, total, average FROM shop_spent WHERE n > 1 OR customer = 'cyd';"
    state = [["ann", 3, 15.0, 5.0], ["cyd", 1, 20.0, 20.0]]
    await_until(lambda: rows(server, spent) == state, "the counts continue", SECONDS)
    assert rows(server, "SELECT * FROM shop_large;") == [["ann", 15.0], ["cyd", 20.0]]

    tested = dbt("test")
    assert not tested["success"]
    assert {name.split("_shop_")[0]: n for name, n in of_tests(tested).items()} == {
        "accepted_values": 1,
        "relationships": 1,
    }


def test_a_change_that_cannot_keep_its_state_starts_over_on_request(
    server: LiveServer, dbt: Dbt, project: Path
) -> None:
    # Also of what another test has left.
    assert dbt("run", "--full-refresh")["success"]
    server.insert("shop_orders", order(11, "dan", "8.00"), order(12, "dan", "5.00"))
    counts = "SELECT n FROM shop_spent WHERE customer = 'dan';"
    await_until(lambda: rows(server, counts) == [[2]], counts, SECONDS)
    spent = project / "models" / "shop_spent.sql"
    spent.write_text(spent.read_text().replace("GROUP BY", "WHERE price >= 8 GROUP BY"))
    refused = dbt("run")
    message = of_models(refused)["shop_spent"]
    assert not refused["success"]
    assert "of class 4 (rebuilt from the log)" in message
    assert "`dbt run --full-refresh --select shop_spent+`" in message
    alone = dbt("run", "--full-refresh", "--select", "shop_spent")
    assert "SHOP_LARGE read it, and are not part of this run" in of_models(alone)["shop_spent"]
    assert rows(server, counts) == [[2]]
    anew = dbt("run", "--full-refresh", "--select", "shop_spent+")
    assert of_models(anew) == {"shop_large": "created", "shop_spent": "created"}, anew
    await_until(lambda: rows(server, counts) == [[1]], counts, SECONDS)


def test_the_docs_have_the_columns_of_all(dbt: Dbt, project: Path) -> None:
    assert dbt("run", "--full-refresh")["success"]
    assert dbt("debug")["success"] and dbt("docs", "generate")["success"]
    found = json.loads((project / "target" / "catalog.json").read_text())
    assert found["errors"] is None
    columns = {
        name.rpartition(".")[2]: (
            node["metadata"]["type"],
            [(column["name"], column["type"]) for column in node["columns"].values()],
        )
        for name, node in found["nodes"].items()
    }
    assert columns.keys() == set(MODELS)
    assert columns["shop_orders"][0] == "stream"
    assert columns["shop_spent"] == (
        "table",
        [("customer", "STRING"), ("n", "BIGINT"), ("total", "DECIMAL(8, 2)")],
    )
    assert columns["shop_large"] == (
        "view",
        [("customer", "STRING"), ("total", "DECIMAL(8, 2)")],
    )
    orders = found["nodes"]["model.shop.shop_orders"]["metadata"]["comment"]
    assert orders == "One record an order, as the shop's customers place it."


WRONG = {
    "wrong_kind": ("{{ config(materialized='incremental') }} SELECT 1 AS a", "'table' or 'stream'"),
    "wrong_view": ("{{ config(partitions=2) }} SELECT 1 AS a", "takes no PARTITIONS"),
    "wrong_name": (
        "{{ config(materialized='stream') }} SELECT nothing FROM {{ ref('shop_orders') }}",
        "NOTHING",
    ),
    "wrong_two": (
        "SELECT id FROM {{ ref('shop_orders') }}; CREATE VIEW b AS SELECT id FROM shop_orders",
        "defines VIEW B",
    ),
}
"""Models, and what is said of them."""


def test_what_does_not_work_says_so(dbt: Dbt, project: Path) -> None:
    assert dbt("run")["success"]
    for name, (sql, _) in WRONG.items():
        (project / "models" / f"{name}.sql").write_text(sql)
    found = dbt("run", "--select", *WRONG)["results"]
    said = {name: (found[name]["status"], found[name]["message"]) for name in WRONG}
    for name, (_, reason) in WRONG.items():
        assert said[name][0] == "error" and reason in said[name][1], said[name]
    assert dbt("show", "--inline", "SELECT total FROM {{ ref('shop_large') }}")["success"]
    forever = dbt("show", "--inline", "SELECT id FROM {{ ref('shop_orders') }} EMIT CHANGES")
    assert "Leave out EMIT CHANGES" in forever["exception"]
    (project / "models" / "wrong_view.sql").write_text("{{ config(schema='b') }} SELECT 1 AS a")
    assert "there is no schema public_b" in dbt("run", "--select", "wrong_view")["exception"]
