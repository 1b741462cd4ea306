"""Whether what is recorded of the charts is what PostgreSQL answers."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from datadriven import Case, check
from postgres.answers import Answers
from postgres.charts import FOLDER, REFUSED, recorded, taken, written
from postgres.oracle import answers


@pytest.fixture(scope="module")
def theirs() -> Iterator[Answers]:
    with answers(FOLDER / "sources.postgres.sql", FOLDER / "rows.sql") as found:
        yield found


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in taken()])
def test_what_was_recorded(case: Case, theirs: Answers, rewrite: bool) -> None:
    check(case, {"chart": lambda case: _recorded(case, theirs)}, rewrite)


def _recorded(case: Case, theirs: Answers) -> str:
    here = recorded(case).here
    try:
        return written(theirs.ask(case.input), here)
    except psycopg.Error as error:
        return written(REFUSED + str(error.diag.message_primary), here)
