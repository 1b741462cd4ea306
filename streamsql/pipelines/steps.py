"""The statements of an apply, and the changes that are not supported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import UnsupportedError
from streamsql.nodes import QueryAction, Statement
from streamsql.pipelines.desired_state import Definition
from streamsql.pipelines.difference import MATERIALIZED_VIEW, Action, Item
from streamsql.planner.changes.classes import ChangeClass
from streamsql.schema import Kind
from streamsql.types import SQLType


@dataclass(frozen=True)
class Step:
    """A statement and its object."""

    item: Item
    statement: Statement
    properties: Mapping[str, str]
    rebuilds: bool = False
    """Whether its query gets a new checkpoint."""
    replaces: str | None = None
    """The id of the query that an INSERT INTO .. SELECT replaces."""

    @property
    def keeps(self) -> bool:
        """Whether the new checkpoint is migrated rather than rebuilt."""
        return self.rebuilds and self.item.keeps


def steps_of(items: Sequence[Item], there: Catalog, properties: Mapping[str, str]) -> list[Step]:
    """In executable order: creations and changes, then drops. Raises UnsupportedError for an
    unsupported change."""
    made = []
    for item in items:
        if item.action is Action.CREATE:
            made += [(d.number, Step(item, d.statement, d.properties)) for d in item.definitions]
        elif item.action is Action.CHANGE:
            made += list(_changing(item, there))
    made.sort(key=lambda numbered: numbered[0])
    dropped = [Step(item, _drop(item), properties) for item in items if item.action is Action.DROP]
    return [*(step for _, step in made), *dropped]


def check_steps(items: Sequence[Item]) -> None:
    """Raises the UnsupportedError of the first unsupported change."""
    for item in items:
        if item.action is Action.CHANGE:
            _check(item)


def _changing(item: Item, there: Catalog) -> Iterator[tuple[int, Step]]:
    _check(item)
    first, *rest = item.definitions
    statements: list[tuple[Definition, Statement]] = []
    if item.kind == "QUERY":
        yield first.number, Step(item, first.statement, first.properties, replaces=item.query_id)
        return
    if item.thing[0] == "type":
        statements = [(first, nodes.DropType(name=item.name)), (first, first.statement)]
    elif not _only_altered(item):
        statements.append((first, _replacing(first.statement)))
    columns = dict(_columns(item, there))
    for definition in rest:
        if (left := _left(definition.statement, columns, there)) is not None:
            statements.append((definition, left))
    for definition, statement in statements:
        rebuilds = item.rebuilds and definition is first
        yield definition.number, Step(item, statement, definition.properties, rebuilds)


def _replacing(statement: Statement) -> Statement:
    changes: dict[str, Any] = {"or_replace": True}
    if hasattr(statement, "if_not_exists"):
        changes["if_not_exists"] = False
    return replace(statement, **changes)


def _check(item: Item) -> None:
    """Raises UnsupportedError for an unsupported change."""
    change = item.change
    if change.change > ChangeClass.IN_PLACE and not item.rebuilds:
        first = change.decisive[0]
        way = f"TERMINATE {item.name};" if item.kind == "QUERY" else "DROP"
        raise UnsupportedError(
            f"cannot apply the change of {item.kind} {item.name}, of class {change.change.value} "
            f"({change.change.meaning}): {first.clause}: {first.text}",
            detail="\n".join(_details(item)),
            hint="Nothing has been changed. Other changes can be applied separately; "
            f"this one requires a {way} first, after which its query starts from scratch.",
        )


def _details(item: Item) -> Iterator[str]:
    for part in item.change.decisive:
        yield f"{part.clause}: {part.text}; {part.effect}."
    if item.change.change is not ChangeClass.REFUSED and item.obstacle:
        yield f"It cannot be rebuilt from the log: {item.obstacle}."


def _only_altered(item: Item) -> bool:
    """Whether a definition consists of a CREATE that already holds and further ALTERs."""
    altered = any(isinstance(d.statement, nodes.AlterSource) for d in item.definitions)
    comments = all(d.clause == "COMMENT" for d in item.change.differences)
    return altered or (comments and item.thing[0] == "source")


def _columns(item: Item, there: Catalog) -> Iterator[tuple[str, SQLType]]:
    if item.thing[0] == "source":
        for column in there.get(item.name).schema:
            yield column.name, column.type


def _left(statement: Statement, columns: dict[str, SQLType], there: Catalog) -> Statement | None:
    """The part of a definition that does not hold yet; ALTERs are applied to `columns`."""
    match statement:
        case nodes.AlterSource():
            left = tuple(a for a in statement.alterations if _alter(a, columns))
            return replace(statement, alterations=left) if left else None
        case nodes.Comment():
            return None if there.get(statement.name).comment == statement.comment else statement
    return statement


def _alter(alteration: nodes.Alteration, columns: dict[str, SQLType]) -> bool:
    """Returns whether it changes anything."""
    before = dict(columns)
    match alteration:
        case nodes.DropColumn():
            columns.pop(alteration.name, None)
        case nodes.RenameColumn():
            if alteration.name in columns:
                columns[alteration.new_name] = columns.pop(alteration.name)
        case nodes.RetypeColumn():
            columns[alteration.name] = alteration.type
        case nodes.ColumnDefinition():
            columns.setdefault(alteration.name, alteration.type)
    return columns != before


def _drop(item: Item) -> Statement:
    kind, name = item.thing
    match kind:
        case "query":
            return nodes.ControlQuery(action=QueryAction.TERMINATE, query_id=name)
        case "view":
            return nodes.DropView(name=name)
        case "type":
            return nodes.DropType(name=name)
        case "function":
            return nodes.DropFunction(name=name)
        case "database":
            return nodes.DropDatabase(name=name)
        case "sink":
            return nodes.DropSink(name=name)
    if item.kind == MATERIALIZED_VIEW:
        return nodes.DropMaterializedView(name=name)
    return nodes.DropSource(kind=Kind(item.kind), name=name)
