"""Queries as Metabase, Grafana and Superset write them: which of them are taken from a client of
PostgreSQL's protocol.

They are rewritten for the sources of sources.sql; `origin` is where such a query was seen. What
stands below `taken` is PostgreSQL's answer: tests/server/test_charts.py holds ours to it.
"""

from __future__ import annotations

import pytest
from datadriven import CASES, Case, cases, check, read

from streamsql.api.checking import NamedText
from streamsql.api.checking import check as check_script
from streamsql.postgres.sql.texts import statements, template

TAKEN = "taken"
_SOURCES = (CASES / "charts" / "sources.sql").read_text("utf-8")


def _chart(case: Case) -> str:
    """`taken`, or what is said of the query."""
    (statement,) = statements(case.input)
    sql = template(statement).filled(()).text
    found = check_script(NamedText("charts", f"{_SOURCES}{sql};"), {}, {}, lambda path: path)
    said = "\n".join(error.message for error, _ in found.errors)
    return said or case.expected if case.expected.startswith(TAKEN) else said or TAKEN


@pytest.mark.parametrize("case", cases("charts"))
def test_chart(case: Case, rewrite: bool) -> None:
    check(case, {"chart": _chart}, rewrite)


def test_four_of_five_are_taken() -> None:
    known = [case for path in sorted((CASES / "charts").glob("*.txt")) for case in read(path)]
    taken = sum(case.expected.startswith(TAKEN) for case in known)
    assert len(known) >= 100 and taken >= 0.8 * len(known), f"{taken} of {len(known)}"
