"""Which sources a query takes by the keys of their records, and whose keys its result has.

For these it matters that the records of a key are in one partition, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsql.nodes import Expression
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.distinct import Distinct
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.match import Match
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.over import Over
from streamsql.planner.operators.project import Project
from streamsql.planner.operators.qualify import Qualify
from streamsql.planner.operators.repartition import Repartition
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.types.binding import columns_in

Keys = dict[str, frozenset[str]]
"""By sources, the columns of a row that are made of the keys of their records."""


@dataclass(frozen=True)
class Keyed:
    """Names of sources."""

    taken: tuple[str, ...]
    """Those that are joined, or whose rows are grouped by their key or follow each other by it."""
    handed_on: tuple[str, ...]
    """Those whose keys are in the keys of the result."""


def keyed(root: Operator) -> Keyed:
    """Of a query's plan before or after the rules."""
    taken: dict[str, None] = {}
    keys = _keys(root, taken)
    result = {column.name for column in root.schema.key}
    return Keyed(tuple(taken), tuple(name for name, columns in keys.items() if columns & result))


def _keys(node: Operator, taken: dict[str, None]) -> Keys:
    keys: Keys = {}
    for below in node.inputs:
        keys |= _keys(below, taken)
    match node:
        case Scan(source=source):
            return {source.name: frozenset(column.name for column in source.schema.key)}
        case Qualify(alias=alias):
            return {
                name: frozenset(f"{alias}.{column}" for column in columns)
                for name, columns in keys.items()
            }
        case Project(key=key, value=value):
            return {
                name: frozenset(
                    item.name for item in (*key, *value) if _reads(item.expression, columns)
                )
                for name, columns in keys.items()
            }
        case Join():
            taken |= dict.fromkeys(keys)
        case Aggregate(keys=named) | TopN(keys=named) | Match(keys=named):
            taken |= _taken(keys, (item.expression for item in named))
        case Over(keys=expressions):
            taken |= _taken(keys, expressions)
        case Distinct():
            names = {column.name for column in node.schema}
            taken |= {name: None for name, columns in keys.items() if columns & names}
    # What is grouped, or sent to other partitions, has keys of its own from there on.
    return {} if isinstance(node, Aggregate | Match | Repartition) else keys


def _taken(keys: Keys, expressions: Iterable[Expression]) -> dict[str, None]:
    read = {column.name for e in expressions for column in columns_in(e)}
    return {name: None for name, columns in keys.items() if columns & read}


def _reads(expression: Expression, columns: frozenset[str]) -> bool:
    return any(column.name in columns for column in columns_in(expression))
