"""What tools ask of the system catalog, and what PostgreSQL answers.

Cases are `same` (the answer is PostgreSQL's), `among` (its rows are some of PostgreSQL's), `own`
(rows of its own, for the reason that `why` names, in PostgreSQL's columns) or `refused`. The
recorded answers are PostgreSQL's where they are the same, and ours else; `pytest --rewrite` asks
both again. `origin` says where such a query was seen; <name> in it is a relation's number (OID).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from datadriven import CASES, Case, cases, check, read
from postgres.answers import Answered, Answers, parsed
from postgres.oracle import answers
from postgres.stand_in import StandIn, listening

from streamsql.postgres.relations.schema import INFORMATION, RELATIONS

FOLDER = CASES / "postgres"
_ORDERED = re.compile(r"order\s+by[^()]*$", re.IGNORECASE)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    prepare = (FOLDER / "schema.sql").read_text("utf-8")
    engine = StandIn(tmp_path_factory.mktemp("introspection"), prepare)
    with closing(engine), listening(engine) as port:
        where = f"host=127.0.0.1 port={port} user=streamsql dbname=streamsql"
        with closing(Answers(where)) as found:
            yield found


@pytest.fixture(scope="module")
def theirs() -> Iterator[Answers]:
    with answers(FOLDER / "schema.postgres.sql") as found:
        yield found


def _rows(case: Case, found: Answered) -> list[tuple[str, ...]]:
    """In the order that the query asks for, if it does."""
    return list(found.rows) if _ORDERED.search(case.input) else sorted(found.rows)


def _refused(case: Case, ours: Answers) -> str:
    with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
        ours.ask(case.input)
    return str(caught.value.diag.message_detail)


@pytest.mark.parametrize("case", cases("postgres/introspection"))
def test_our_answer(case: Case, ours: Answers, rewrite: bool) -> None:
    if case.directive == "refused":
        check(case, {"refused": lambda case: _refused(case, ours)}, rewrite)
        return
    found = ours.ask(case.input)
    if case.directive in ("among", "own"):
        check(case, {case.directive: lambda case: found.text()}, rewrite)
    elif not rewrite:
        expected = parsed(case.expected)
        assert found.kinds() == expected.kinds()
        assert _rows(case, found) == _rows(case, expected)


@pytest.mark.parametrize("case", cases("postgres/introspection"))
def test_what_was_recorded(case: Case, theirs: Answers, rewrite: bool) -> None:
    found = theirs.ask(case.input)
    if case.directive == "same":
        check(case, {"same": lambda case: found.text()}, rewrite)
    elif case.directive != "refused" and not rewrite:
        expected = parsed(case.expected)
        assert found.kinds() == expected.kinds()
        assert case.directive == "own" or set(expected.rows) <= set(found.rows)


@pytest.mark.parametrize("name", sorted(RELATIONS.keys() - {"pg_get_keywords"}))
def test_relations_have_postgresqls_columns(name: str, theirs: Answers) -> None:
    known = name.removeprefix(INFORMATION)
    schema = "pg_catalog" if known == name else "information_schema"
    found = theirs.ask(
        f"SELECT attname FROM pg_attribute WHERE attrelid = '{schema}.{known}'::regclass "
        "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    assert [column for column, _ in RELATIONS[name]] == [column for (column,) in found.rows]


def test_nineteen_of_twenty_are_answered() -> None:
    paths = sorted((FOLDER / "introspection").glob("*.txt"))
    known = [case for path in paths for case in read(path)]
    answered = [case for case in known if case.directive != "refused"]
    assert len(known) >= 60 and len(answered) >= 0.95 * len(known)
    assert all("origin" in case.args for case in known)
    assert all(("why" in case.args) == (case.directive == "own") for case in known)
