"""Joins that are right by construction: all of them must be planned, whatever the order of their
sources, their types and the way round their conditions stand."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from planner.plan_script import base_catalog

from streamsql.parser import parse
from streamsql.planner.explain.plan import explain
from streamsql.planner.operators import Join, Project, operators
from streamsql.planner.plans.invariants import problems
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.rules import optimize
from streamsql.planner.statements import plan

STREAMS = {"VIEWS": ("user_id", "page"), "CLICKS": ("user_id", "page", "target")}
TABLES = {"USERS": ("id", "name"), "TEAMS": ("id", "title", "owner"), "RANKS": ("id",)}
COLUMNS = {**STREAMS, **TABLES}
ANY_TYPE = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
OUTER_LEFT = ("JOIN", "LEFT OUTER JOIN")


@dataclass(frozen=True)
class Joins:
    """FROM: the sources in their order, and the text of every join with its condition's sides."""

    sources: tuple[str, ...]
    joins: tuple[tuple[str, str, str, str], ...]

    def sql(self, *, flipped: bool = False) -> str:
        text = self.sources[0]
        for name, (how, within, left, right) in zip(self.sources[1:], self.joins, strict=True):
            sides = (right, left) if flipped else (left, right)
            text += f" {how} {name} {within} ON {' = '.join(sides)}"
        return text


@st.composite
def _stream_joins(draw: st.DrawFn) -> Joins:
    """A stream, then streams and tables in any order."""
    first = draw(st.sampled_from(sorted(STREAMS)))
    others = draw(st.permutations(sorted(COLUMNS.keys() - {first})))
    rest = others[: draw(st.integers(1, 4))]
    joins = []
    for index, name in enumerate(rest):
        before = draw(st.sampled_from((first, *rest[:index])))
        column = f"{before}.{draw(st.sampled_from(COLUMNS[before]))}"
        left = draw(st.sampled_from((column, f"UCASE({column})")))
        if name in STREAMS:
            right = f"{name}.{draw(st.sampled_from(STREAMS[name]))}"
            how, within = draw(st.sampled_from(ANY_TYPE)), "WITHIN 1 HOUR"
        else:
            right, how, within = f"{name}.id", draw(st.sampled_from(OUTER_LEFT)), ""
        joins.append((how, within, left, right))
    return Joins((first, *rest), tuple(joins))


@st.composite
def _table_joins(draw: st.DrawFn) -> Joins:
    """Tables on their primary keys; nothing is joined to the result of a FULL join."""
    sources = draw(st.permutations(sorted(TABLES)))[: draw(st.integers(2, 3))]
    joins = []
    for index, name in enumerate(sources[1:], start=1):
        last = index == len(sources) - 1
        before = draw(st.sampled_from(sources[:index]))
        how = draw(st.sampled_from(ANY_TYPE if last else ANY_TYPE[:-1]))
        joins.append((how, "", f"{before}.id", f"{name}.id"))
    return Joins(tuple(sources), tuple(joins))


def _planned(sql: str) -> QueryPlan:
    (statement,) = parse(sql)
    planned = plan(statement, base_catalog(), {})
    assert isinstance(planned, QueryStatementPlan)
    query = planned.query
    assert list(problems(query.root)) == []
    assert query.unoptimized is not None
    assert optimize(query.unoptimized).root == query.root
    assert explain(query, verbose=True)
    return query


@given(_stream_joins() | _table_joins())
def test_everything_is_selected_by_star(joins: Joins) -> None:
    kind = "STREAM" if joins.sources[0] in STREAMS else "TABLE"
    query = _planned(f"CREATE {kind} x AS SELECT * FROM {joins.sql()};")
    assert query.reads == joins.sources
    catalog = base_catalog()
    expected = [
        f"{name}_{column.name}" for name in joins.sources for column in catalog.get(name).schema
    ]
    made = [name for name in query.columns if name not in expected]
    assert [name for name in query.columns if name in expected] == expected
    assert all(name.startswith("ROWKEY") for name in made)
    assert len(made) <= 1
    (key,) = query.schema.key
    assert not made or key.name == made[0]


@given(_stream_joins() | _table_joins())
def test_the_key_is_that_of_the_last_join(joins: Joins) -> None:
    kind = "STREAM" if joins.sources[0] in STREAMS else "TABLE"
    query = _planned(f"CREATE {kind} x AS SELECT * FROM {joins.sql()};")
    project = next(o for o in operators(query.root) if isinstance(o, Project))
    found = [o for o in operators(query.root) if isinstance(o, Join)]
    assert len(found) == len(joins.joins)
    (key,) = project.key
    assert key.expression.name == found[0].key
    how, _, left, right = joins.joins[-1]
    if how == "FULL JOIN":
        assert key.name.startswith("ROWKEY")
    elif len(found) == 1 and "(" in left:
        assert key.name == right.upper().replace(".", "_")


@given(_stream_joins() | _table_joins())
def test_a_condition_may_stand_the_other_way_round(joins: Joins) -> None:
    sql = "SELECT * FROM {} EMIT CHANGES;"
    assert _planned(sql.format(joins.sql())) == _planned(sql.format(joins.sql(flipped=True)))


@given(_stream_joins(), st.sampled_from(["{0}.page <> ''", "{0}.page = {1}", "{1} IS NOT NULL"]))
def test_clauses_over_a_join(joins: Joins, condition: str) -> None:
    stream, last = joins.sources[0], joins.sources[-1]
    column = f"{last}.{COLUMNS[last][0]}"
    where = condition.format(stream, column)
    grouped = _planned(
        f"CREATE TABLE x AS SELECT {column}, COUNT(*) AS n FROM {joins.sql()} "
        f"WHERE {where} GROUP BY {column} HAVING COUNT(*) > 1;"
    )
    assert len(grouped.schema.key) == 1
    partitioned = _planned(
        f"CREATE STREAM x AS SELECT {column} AS k, {stream}.page AS p FROM {joins.sql()} "
        f"WHERE {where} PARTITION BY {column};"
    )
    assert [c.name for c in partitioned.schema.key] == ["K"]
