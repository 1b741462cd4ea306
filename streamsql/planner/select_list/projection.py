"""From the items of a SELECT to key and value columns, and what a stored result must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql.errors import PlanError, Span
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.planner.operators import Named, Operator, Project
from streamsql.planner.scopes.text import expression_text, qualified_text
from streamsql.planner.select_list.items import Item
from streamsql.types import quote


@dataclass(frozen=True)
class Keys:
    """Row identity: expressions over the source's columns, and their names in messages."""

    expressions: tuple[Expression, ...]
    noun: str
    """key column, partitioning, grouping or join expression."""
    alias: str
    """Of the source, to qualify the expressions in messages; empty where they are already."""
    alternatives: tuple[Expression, ...] = ()
    """Equivalent expressions for a single key."""
    note: str | None = None
    """More to say where the key is missing."""


@dataclass(frozen=True)
class Selected:
    """The items as the result's key (None where one is not selected) and value columns."""

    key: tuple[Item | None, ...]
    value: tuple[Item, ...]

    @property
    def key_items(self) -> tuple[Item, ...]:
        return tuple(item for item in self.key if item is not None)


def divide(items: Sequence[Item], keys: Keys) -> Selected:
    """The first item equal to a key expression is that key column; all others are values."""
    taken: set[int] = set()
    key: list[Item | None] = []
    for expression in keys.expressions:
        found = next(
            (i for i, x in enumerate(items) if x.expression == expression and i not in taken), None
        )
        if found is not None:
            taken.add(found)
        key.append(None if found is None else items[found])
    return Selected(tuple(key), tuple(x for i, x in enumerate(items) if i not in taken))


def check_stored(
    selected: Selected, keys: Keys, sink: str, span: Span | None, *, inner: bool = False
) -> None:
    """PlanError where a result that is stored in a topic lacks a key or all values; that of a
    subquery (`inner`) may lack values."""
    missing = [e for e, item in zip(keys.expressions, selected.key, strict=True) if item is None]
    if missing:
        raise _missing(missing, keys, sink, span)
    for expression, item in zip(keys.expressions, selected.key, strict=True):
        copies = [x for x in selected.value if x.expression == expression]
        if item is not None and copies:
            aliases = f"{item.name} and {', '.join(x.name for x in copies)}"
            raise PlanError(
                f"The projection contains a key column ({quote(item.name)}) more than once, "
                f"aliased as: {aliases}.",
                hint="Each key column must only be in the projection once. To copy the key into "
                f"the value use AS_VALUE: AS_VALUE({expression_text(expression)}) "
                f"AS {copies[0].name}.",
                span=copies[0].span,
                ksqldb=says("key-selected-twice", key=quote(item.name), aliases=aliases),
            )
    if not selected.value and not inner:
        raise PlanError(
            "The projection contains no value columns.",
            hint="Select at least one value column in addition to the key.",
            span=span,
        )


def _missing(missing: Sequence[Expression], keys: Keys, sink: str, span: Span | None) -> PlanError:
    wanted = keys.alternatives or keys.expressions
    every = [qualified_text(e, keys.alias) for e in wanted]
    several = "s" if len(every) > 1 else ""
    listed = _listed(every, "or" if keys.alternatives else "and")
    added = [qualified_text(e, keys.alias) for e in missing]
    example = every[0] if keys.alternatives else ", ".join(every)
    wanted_keys = f"{keys.noun}{several} {listed}"
    return PlanError(
        "Key missing from projection (ie, SELECT). "
        f"The query used to build {quote(sink)} must include the {wanted_keys} in its projection "
        f"(eg, SELECT {example}...).",
        detail=keys.note,
        hint=f"Add {_listed(added, 'and')} to the SELECT.",
        span=span,
        ksqldb=says(
            "key-not-selected",
            sink=quote(sink),
            keys=wanted_keys,
            example=example,
            note=f"\n{keys.note}" if keys.note else "",
        ),
    )


def _listed(texts: Sequence[str], conjunction: str) -> str:
    head, last = texts[:-1], texts[-1]
    return f"{', '.join(head)} {conjunction} {last}" if head else last


def project(source: Operator, selected: Selected) -> Project:
    return Project(
        source,
        tuple(Named(x.name, x.expression) for x in selected.key_items),
        tuple(Named(x.name, x.expression) for x in selected.value),
    )
