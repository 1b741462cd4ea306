"""Whether what is recorded of the charts is what PostgreSQL answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from datadriven import Case, check
from postgres.answers import Answers
from postgres.charts import FOLDER, REFUSED, recorded, taken, written
from postgres.oracle import WITHOUT, postgres, programs


@pytest.fixture(scope="module")
def theirs() -> Iterator[Answers]:
    if programs() is None:
        pytest.skip(WITHOUT)
    with postgres() as where:
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute((FOLDER / "sources.postgres.sql").read_bytes())
            connection.execute((FOLDER / "rows.sql").read_bytes())
        with closing(Answers(where)) as answers:
            yield answers


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in taken()])
def test_what_was_recorded(case: Case, theirs: Answers, rewrite: bool) -> None:
    check(case, {"chart": lambda case: _recorded(case, theirs)}, rewrite)


def _recorded(case: Case, theirs: Answers) -> str:
    here = recorded(case).here
    try:
        return written(theirs.ask(case.input), here)
    except psycopg.Error as error:
        return written(REFUSED + str(error.diag.message_primary), here)
