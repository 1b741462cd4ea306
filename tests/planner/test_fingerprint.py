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


# These are in the checkpoints of queries that run: another value makes them begin again.
@pytest.mark.parametrize(
    ("sql", "value"),
    [
        (
            "CREATE STREAM known AS SELECT v.user_id, page, u.name FROM views v JOIN users u "
            "ON v.user_id = u.id;",
            "1b1b364b501c37e3",
        ),
        (
            "CREATE STREAM led AS SELECT v.user_id, v.page, target FROM views v LEFT JOIN "
            "clicks c WITHIN 1 HOUR GRACE PERIOD 10 MINUTES ON v.user_id = c.user_id;",
            "454a35734d9eb06f",
        ),
        (
            "CREATE TABLE both AS SELECT u.id, name, title FROM users u JOIN teams t ON u.id "
            "= t.id;",
            "ec98196994d236cb",
        ),
        (
            "CREATE TABLE owned AS SELECT t.id, title, name FROM teams t LEFT JOIN users u ON "
            "t.owner = u.id;",
            "163c5919e9fa7956",
        ),
        (
            "CREATE TABLE t WITH (KEY_FORMAT='JSON') AS SELECT * FROM (SELECT *, ROW_NUMBER() "
            "OVER (PARTITION BY page ORDER BY duration DESC, user_id) AS n FROM views WHERE "
            "duration > 0) WHERE n <= 3;",
            "c661a68509b43503",
        ),
        (
            "CREATE STREAM s AS SELECT user_id, page, SUM(duration) OVER (PARTITION BY "
            "user_id ORDER BY ROWTIME) AS total, LAG(page) OVER (PARTITION BY user_id ORDER "
            "BY ROWTIME) AS before FROM views WHERE duration > 0;",
            "48df1864e158e129",
        ),
        (
            "CREATE STREAM s AS SELECT * FROM views MATCH_RECOGNIZE ( PARTITION BY user_id "
            "ORDER BY ROWTIME MEASURES a.page AS first_page, LAST(down.duration) AS bottom, "
            "up.duration - FIRST(down.duration, 1) AS more ONE ROW PER MATCH AFTER MATCH SKIP "
            "TO LAST up PATTERN (a down+ up) DEFINE down AS duration < PREV(duration), up AS "
            "up.duration > LAST(down.duration));",
            "62b0c99ce0b93c1e",
        ),
        (
            "CREATE STREAM s AS SELECT DISTINCT page, user_id FROM views;",
            "98f012a6ab72cc8b",
        ),
        (
            "CREATE TABLE t AS SELECT page, window_start, window_end AS until, COUNT(*) AS "
            "n FROM TABLE(TUMBLE(TABLE views, DESCRIPTOR(ROWTIME), INTERVAL '1' HOUR)) GROUP "
            "BY page, window_start, window_end HAVING COUNT(*) > 1;",
            "015d1d23354f0e1b",
        ),
        (
            "CREATE TABLE t WITH (KEY_FORMAT='JSON') AS SELECT place->city, page, LEN(page) + "
            "duration, COUNT(*), 2 * duration, SUM(duration) / COUNT(*) FROM views GROUP BY "
            "page, LEN(page) + duration, place->city, 2 * duration;",
            "2f547652810a60c3",
        ),
    ],
)
def test_it_stays_what_checkpoints_have(sql: str, value: str) -> None:
    assert fingerprint(planned(sql).root) == value
