"""Queries that are right by construction: all of them must be planned, with the columns that the
rules of naming promise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from planner.plan_script import base_catalog

from streamsql.parser import parse
from streamsql.planner.explain.plan import explain
from streamsql.planner.operators import Filter, Repartition, operators
from streamsql.planner.plans.invariants import problems
from streamsql.planner.plans.query_plan import Mode, QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import plan

INTEGERS = st.recursive(
    st.sampled_from(["duration", "place->zip", "LEN(page)", "1", "v.duration"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner).map(
        lambda parts: f"({' '.join(parts)})"
    ),
    max_leaves=4,
)
TEXTS = st.sampled_from(["page", "UCASE(page)", "place->city", "page + 'x'", "v.page", "tags[1]"])
CONDITIONS = st.recursive(
    st.one_of(
        st.tuples(INTEGERS, INTEGERS).map("{0[0]} > {0[1]}".format),
        TEXTS.map("{} LIKE '/a%'".format),
        st.just("duration IN (1, 2)"),
        st.just("viewed_at BETWEEN 1 AND 2"),
    ),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
        lambda parts: f"({' '.join(parts)})"
    ),
    max_leaves=3,
)
WHERE = st.just("") | CONDITIONS.map("WHERE {}".format)
VALUES = st.lists(INTEGERS | TEXTS, min_size=1, max_size=4)
GROUPS = st.lists(
    st.sampled_from(["page", "duration", "LEN(page)", "place->city", "duration % 2"]),
    min_size=1,
    max_size=3,
    unique=True,
)
AGGREGATES = st.lists(
    st.sampled_from(
        ["COUNT(*)", "SUM(duration)", "AVG(duration)", "MAX(page)", "SUM(duration) / COUNT(*)"]
    ),
    min_size=1,
    max_size=3,
)


def _planned(sql: str) -> QueryPlan:
    (statement,) = parse(sql)
    planned = plan(statement, base_catalog(), {})
    assert isinstance(planned, QueryStatementPlan)
    assert list(problems(planned.query.root)) == []
    assert explain(planned.query, verbose=True)
    return planned.query


def _named(expressions: list[str], prefix: str) -> list[str]:
    return [f"{text} AS {prefix}{i}" for i, text in enumerate(expressions)]


@given(VALUES, WHERE)
def test_projections(values: list[str], where: str) -> None:
    items = ", ".join(["user_id", *_named(values, "c")])
    query = _planned(f"CREATE STREAM x AS SELECT {items} FROM views v {where};")
    assert query.schema.names == ("USER_ID", *(f"C{i}" for i in range(len(values))))
    assert [c.name for c in query.schema.key] == ["USER_ID"]
    assert any(isinstance(o, Filter) for o in operators(query.root)) == bool(where)


@given(VALUES)
def test_unnamed_expressions_are_numbered_in_order(values: list[str]) -> None:
    wrapped = [f"COALESCE({value}, {value})" for value in values]
    query = _planned(f"SELECT {', '.join(wrapped)} FROM views v EMIT CHANGES;")
    assert query.columns == tuple(f"KSQL_COL_{i}" for i in range(len(values)))


@given(GROUPS, AGGREGATES, WHERE, st.permutations(range(3)), st.booleans())
def test_groups(
    groups: list[str], aggregates: list[str], where: str, order: list[int], windowed: bool
) -> None:
    keys = _named(groups, "k")
    shuffled = [keys[i] for i in order if i < len(keys)]
    items = ", ".join([*_named(aggregates, "a"), *shuffled])
    window = "WINDOW TUMBLING (SIZE 1 MINUTE)" if windowed else ""
    query = _planned(
        f"CREATE TABLE x WITH (KEY_FORMAT='JSON') AS SELECT {items} FROM views v {window} {where} "
        f"GROUP BY {', '.join(groups)};"
    )
    names = [f"K{i}" for i in range(len(groups))], [f"A{i}" for i in range(len(aggregates))]
    assert query.schema.names == (*names[0], *names[1])
    assert [c.name for c in query.schema.key] == names[0]
    assert query.mode.mode is Mode.REAL_TIME


@given(GROUPS, WHERE)
def test_partitions(keys: list[str], where: str) -> None:
    query = _planned(
        "CREATE STREAM x WITH (KEY_FORMAT='JSON') AS SELECT * FROM views v "
        f"{where} PARTITION BY {', '.join(keys)};"
    )
    assert len(query.schema.key) == len(keys)
    assert query.schema.names[-1] == "USER_ID"
    assert any(isinstance(o, Repartition) for o in operators(query.root))
