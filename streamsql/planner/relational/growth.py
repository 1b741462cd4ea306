"""Which relations only grow: their changes add rows, and take none back."""

from __future__ import annotations

from streamsql.planner.relational.algebra import (
    Expand,
    Filter,
    Generate,
    Growth,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    TemporalFilter,
    TemporalJoin,
    UnionAll,
    Values,
)


def only_grows(relation: Relation) -> bool:
    match relation:
        case Scan(growth=growth):
            return growth is Growth.APPENDED
        case TemporalFilter(until=until):
            return until is None and only_grows(relation.input)
        case TemporalJoin(left=left):
            return only_grows(left)
        case Join(kind=JoinKind.INNER | JoinKind.SEMI):
            return only_grows(relation.left) and only_grows(relation.right)
        case Values() | Filter() | Project() | Expand() | Generate() | UnionAll():
            return all(map(only_grows, relation.inputs))
    return False
