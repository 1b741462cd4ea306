"""Lookups of plain columns share one program: that of all columns. Compiling takes tenths of a
second in a young JVM, longer than a first lookup may. The program of all columns is compiled in
advance (warm_up.py), and unused columns of one row cost little."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter

from sqlglot import exp

from streamsql.catalog import Catalog, Source
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.nodes import Expression
from streamsql.parser import parse
from streamsql.planner.operators import Project, Scan
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.statements import plan
from streamsql.properties import PULL_TABLE_SCAN
from streamsql.results import Row
from streamsql.serving.rows import Decoder, result_schema
from streamsql.types import quote

MANY = 40
"""Where a table has more columns, those that are asked for have a program of their own."""


def all_columns(source: Source, catalog: Catalog, properties: Mapping[str, str]) -> PullPlan:
    """The plan of SELECT * of a table, without a condition."""
    (statement,) = parse(f"SELECT * FROM {quote(source.name)};")
    found = plan(statement, catalog, {**properties, PULL_TABLE_SCAN: "true"})
    assert isinstance(found, PullPlan)
    return found


def picked(asked: PullPlan, everything: PullPlan) -> Decoder | None:
    """Projects the rows of `asked`, which has no condition, from the results of all columns; None
    if it needs more than some of these columns."""
    if len(everything.schema) > MANY or asked.order:
        return None
    wanted, there = _columns(asked), _columns(everything)
    if wanted is None or there is None or not all(column in there for column in wanted):
        return None
    decode = push_decoder(result_schema(everything))
    places = [there.index(column) for column in wanted]
    if places == list(range(len(there))):
        return decode
    # Of one place alone, itemgetter has no tuple.
    pick = itemgetter(*places) if len(places) > 1 else itemgetter(slice(places[0], places[0] + 1))

    def decode_picked(record: bytes) -> Row:
        row = decode(record)
        return Row(pick(row.values), row.tombstone)

    return decode_picked


def _columns(plan: PullPlan) -> list[Expression] | None:
    """Of the answer, in its order; None where it is more than columns of a table."""
    root = plan.query.root
    if not isinstance(root, Project) or not isinstance(root.input, Scan):
        return None
    named = {each.name: each.expression for each in (*root.key, *root.value)}
    found = [named[name] for name in plan.schema.names]
    return found if all(isinstance(each, exp.Column) for each in found) else None
