"""GROUP BY with GROUPING SETS, ROLLUP and CUBE: what they come to, set by set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from sqlglot import exp

from streamsql.errors import ParseError, Span
from streamsql.nodes import Expression

MAX_SETS = 4096
"""As in PostgreSQL."""

Keys = tuple[Expression, ...]


@dataclass(frozen=True)
class GroupingSets:
    """The keys of each set; `plain`: there is one, as GROUP BY a, b says."""

    sets: tuple[Keys, ...]
    plain: bool = True


def keys_of(grouping: GroupingSets) -> Keys:
    """Each key once."""
    keys: list[Expression] = []
    for each in grouping.sets:
        keys += (key for key in each if key not in keys)
    return grouping.sets[0] if grouping.plain else tuple(keys)


def sets_of(element: Expression | GroupingSets, span: Span) -> GroupingSets:
    """The sets that one element of GROUP BY stands for."""
    if isinstance(element, GroupingSets):
        return element
    if isinstance(element, exp.Anonymous) and element.name in ("ROLLUP", "CUBE"):
        parts = [_keys(argument) for argument in element.expressions]
        if element.name == "ROLLUP":
            chosen = [parts[:count] for count in range(len(parts), -1, -1)]
        elif 2 ** len(parts) > MAX_SETS:
            raise _too_many(span)
        else:
            counts = range(len(parts), -1, -1)
            chosen = [list(some) for count in counts for some in combinations(parts, count)]
        return GroupingSets(tuple(_joined(some) for some in chosen), False)
    return GroupingSets((_keys(element),))


def crossed(elements: Sequence[GroupingSets], span: Span) -> GroupingSets:
    """The sets of all elements together: each of one with each of the others."""
    count = 1
    for element in elements:
        count *= len(element.sets)
        if count > MAX_SETS:
            raise _too_many(span)
    sets = tuple(_joined(some) for some in product(*(element.sets for element in elements)))
    return GroupingSets(sets, all(element.plain for element in elements))


def plain_keys(element: Expression | GroupingSets, span: Span) -> Keys:
    """Those of an element of PARTITION BY, which has no sets."""
    sets = sets_of(element, span)
    if not sets.plain:
        raise ParseError("GROUPING SETS, ROLLUP and CUBE belong into GROUP BY", span=span)
    return sets.sets[0]


def _keys(element: Expression) -> Keys:
    """`(a, b)` are two keys, of one element."""
    return tuple(element.expressions) if isinstance(element, exp.Tuple) else (element,)


def _joined(parts: Sequence[Keys]) -> Keys:
    return tuple(key for part in parts for key in part)


def _too_many(span: Span) -> ParseError:
    return ParseError(f"GROUP BY comes to more than {MAX_SETS} grouping sets", span=span)
