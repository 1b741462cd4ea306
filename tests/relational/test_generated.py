"""Random queries: the plan's result is the query's, as DuckDB has both.

python -m tests.relational.test_generated FIRST LAST    seeds, without pytest
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter

import duckdb
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamsql.planner.relational.planning import standard_plan
from tests.relational import small
from tests.relational.duckdb_text import plan_text
from tests.relational.generator import INT, TEXT, Drawn, Generator, Seeded, Table

TABLES = (
    Table("t", (("a", INT), ("b", INT), ("c", TEXT)), key=1),
    Table("s", (("a", INT), ("d", INT), ("e", TEXT))),
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return small.database()


def check(text: str, database: duckdb.DuckDBPyConnection) -> None:
    original = sqlglot.transpile(text, read="postgres", write="duckdb")[0]
    try:
        expected = small.comparable(database.execute(original).fetchall())
    except duckdb.Error as error:
        # DuckDB does not know every query that PostgreSQL does.
        pytest.skip(str(error)) if "pytest" in sys.argv[0] else print("DUCKDB", str(error)[:90])
        return
    plan = standard_plan(small.query(text), small.catalog())
    found = small.comparable(database.execute(plan_text(plan)).fetchall())
    assert found == expected, text


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_query(data: st.DataObject, database: duckdb.DuckDBPyConnection) -> None:
    check(Generator(Drawn(data.draw), TABLES).query(), database)


if __name__ == "__main__":
    connection = small.database()
    outcomes: Counter[str] = Counter()
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        query = Generator(Seeded(seed), TABLES, size=2 + seed % 3).query()
        try:
            check(query, connection)
            outcomes["right"] += 1
        except AssertionError:
            outcomes["WRONG"] += 1
            print(f"{seed} WRONG {query}")
        except Exception as error:
            short = f"{type(error).__name__}: {str(error)[:70]}"
            outcomes[short] += 1
            if outcomes[short] == 1:
                print(f"{seed} {query}")
                traceback.print_exc(limit=-2, file=sys.stdout)
    print(outcomes.most_common())
