"""A plan's fingerprint: that of what it keeps, and of nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from planner.plan_script import Script

from streamsql.planner.plans.fingerprint import fingerprint
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan

GROUPED = "CREATE TABLE t AS SELECT page, COUNT(*) AS n FROM views WHERE {where} GROUP BY page;"
JOINED = (
    "CREATE STREAM j AS SELECT v.user_id, v.page, c.target FROM views v JOIN clicks c"
    " WITHIN {hours} HOURS ON v.user_id = c.user_id WHERE v.duration > 3;"
)


def planned(sql: str) -> QueryPlan:
    found = Script().run(sql)
    assert isinstance(found, QueryStatementPlan)
    return found.query


def test_what_keeps_nothing_does_not_count() -> None:
    one, other = (GROUPED.format(where=w) for w in ("duration > 3", "duration > 4 AND page <> ''"))
    assert fingerprint(planned(one).root) == fingerprint(planned(other).root)
    with_sum = one.replace("COUNT(*) AS n", "COUNT(*) AS n, SUM(duration) AS s")
    assert fingerprint(planned(one).root) != fingerprint(planned(with_sum).root)


@pytest.mark.parametrize(
    "sql",
    [
        GROUPED.format(where="TRUE AND duration > 3"),
        "CREATE STREAM j AS SELECT v.user_id, name FROM views v JOIN users u ON v.user_id = u.id"
        " WHERE v.duration > 3;",
    ],
)
def test_rules_do_not_change_it(sql: str) -> None:
    plan = planned(sql)
    assert plan.unoptimized is not None and plan.unoptimized != plan.root
    assert fingerprint(plan.unoptimized) == fingerprint(plan.root)


def test_how_long_is_kept_counts() -> None:
    hours = {fingerprint(planned(JOINED.format(hours=n)).root) for n in (1, 2)}
    assert len(hours) == 2


def test_it_is_the_same_in_every_process() -> None:
    script = (
        "from planner.test_fingerprint import *;"
        "print(fingerprint(planned(JOINED.format(hours=1)).root))"
    )
    tests = str(Path(__file__).parent.parent)
    path = os.pathsep.join([tests, *sys.path])
    found = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == fingerprint(planned(JOINED.format(hours=1)).root)
