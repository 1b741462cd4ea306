"""The rows of an answer out of a program's results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from streamsql.executor.frames.push_rows import push_decoder
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.results import Row
from streamsql.schema import Schema

Decoder = Callable[[bytes], Row]


def answer_rows(
    results: Iterable[bytes], plan: PullPlan, schema: Schema, decode: Decoder | None = None
) -> Iterator[Row]:
    """Sorted and cut off as the plan says; `schema` is that of the results, `decode` reads them."""
    rows: Iterable[Row] = map(decode or push_decoder(schema), results)
    if plan.order:
        rows = sorted_rows(list(rows), plan.order, schema)
    width = len(plan.schema)
    if width < len(schema):
        rows = (Row(row.values[:width], row.tombstone) for row in rows)
    end = None if plan.limit is None else plan.offset + plan.limit
    return islice(rows, plan.offset, end)


def result_schema(plan: PullPlan) -> Schema:
    """Columns of a program's result: the visible ones, then those for sorting."""
    shown = plan.schema.names
    hidden = dict.fromkeys(o.column for o in plan.order if o.column not in shown)
    found = {column.name: column for column in plan.query.schema}
    return Schema((*plan.schema, *(found[name] for name in hidden)))


def sorted_rows(rows: list[Row], order: Sequence[ResultOrder], schema: Schema) -> list[Row]:
    """The rows, of that schema, in the order of these columns."""
    for item in reversed(order):
        at = schema.names.index(item.column)

        def key(row: Row, at: int = at) -> object:
            return _comparable(row.values[at])

        present = [row for row in rows if row.values[at] is not None]
        nulls = [row for row in rows if row.values[at] is None]
        present.sort(key=key, reverse=item.descending)  # type: ignore[arg-type]
        rows = nulls + present if item.nulls_first else present + nulls
    return rows


def _comparable(value: object) -> object:
    """As Spark orders: NaN is the largest number, null within a value the smallest."""
    if isinstance(value, float):
        return math.isnan(value), value
    if isinstance(value, (list, dict)):
        cells = value.values() if isinstance(value, dict) else value
        return tuple((cell is not None, _comparable(cell)) for cell in cells)
    return value
