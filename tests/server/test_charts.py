"""The charts of tests/cases/charts over streams and tables, and PostgreSQL's answers over the same
rows.

`differs` names why an answer is another one:

- null-groups: rows whose group is null are in no group, as in ksqlDB
- cast-of-fractions: a cast to a whole number cuts, and does not round
- average-of-nothing: AVG of nulls alone is 0, as in ksqlDB
- like-of-null: LIKE of a null is an error of its row, which is left out
- case-of-names: what PostgreSQL refuses, since it folds names to lower case
- column-order: `SELECT *` of a subquery with OVER has the columns of its PARTITION BY first

`repeats` marks a chart whose constructs all occur in other charts, any two of them in one: it is
slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from awaiting import await_until
from datadriven import Case, check
from postgres.answers import Answers
from postgres.charts import FOLDER, differences, recorded, taken, written
from postgres.live import SECONDS
from postgres.stand_in import listening
from server.live import LiveServer

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
ROWS = {"people": 6, "products": 5, "orders": 30, "sales": 28, "metrics": 36, "logs": 30}


@pytest.fixture(scope="module")
def ours(server: LiveServer) -> Iterator[Answers]:
    with listening(server.engine) as port:
        where = f"host=127.0.0.1 port={port} user=ann dbname=streamsql"
        with psycopg.connect(where, autocommit=True) as connection:
            for name in ("sources.sql", "rows.sql"):
                connection.execute((FOLDER / name).read_bytes())
            for name, rows in ROWS.items():
                count = f"SELECT COUNT(*) FROM {name}".encode()
                await_until(lambda c=count, n=rows: _is(connection, c, n), name, SECONDS)
            with closing(Answers(where)) as answers:
                yield answers
            for name in ROWS:
                kind = "TABLE" if name in ("people", "products") else "STREAM"
                connection.execute(f"DROP {kind} {name}".encode())


def _is(connection: psycopg.Connection, query: bytes, rows: int) -> bool:
    return connection.execute(query).fetchone() == (rows,)


def charts() -> Iterator[Any]:
    for case in taken():
        marks = pytest.mark.slow if "repeats" in case.args else ()
        yield pytest.param(case, id=case.id, marks=marks)


@pytest.mark.variants(every=3)
@pytest.mark.parametrize("case", list(charts()))
def test_chart(case: Case, ours: Answers, rewrite: bool) -> None:
    known = recorded(case)
    if known.refused is not None and "differs" not in case.args:
        with pytest.raises(psycopg.Error, match=re.escape(known.refused)):
            ours.ask(case.input)
        return
    found = ours.ask(case.input)
    if rewrite and known.theirs is not None:
        same = found.columns == known.theirs.columns
        here = None if same else found.text().split("\n")[0]
        check(case, {"chart": lambda case: written(known.theirs, here)}, rewrite)
        return
    if known.theirs is None:
        return
    assert found.columns == known.columns()
    found_others = differences(found, known.theirs)
    assert bool(found_others) == ("differs" in case.args), found_others
