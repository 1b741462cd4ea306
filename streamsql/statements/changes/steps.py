"""The statements that make what is there what is to be there, and what cannot be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import UnsupportedError
from streamsql.nodes import QueryAction, Statement
from streamsql.planner.changes.classes import ChangeClass
from streamsql.schema import Kind
from streamsql.statements.changes.difference import Action, Item
from streamsql.statements.changes.wanted import Definition
from streamsql.types import SQLType


@dataclass(frozen=True)
class Step:
    """One statement, and the thing that it is for."""

    item: Item
    statement: Statement
    properties: Mapping[str, str]
    rebuilds: bool = False
    """Whether its query goes on from another checkpoint than the one that it has."""
    replaces: str | None = None
    """The id of the query whose place an INSERT INTO .. SELECT takes."""

    @property
    def keeps(self) -> bool:
        """Whether that is made of the state that is there, and not of the log."""
        return self.rebuilds and self.item.keeps


def steps_of(items: Sequence[Item], there: Catalog, properties: Mapping[str, str]) -> list[Step]:
    """In the order in which they can be run: what is made or changed, then what is dropped.
    UnsupportedError for a change that cannot be carried out, before anything is."""
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
    """The UnsupportedError of the first change that nothing carries out yet."""
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
    """UnsupportedError for what nothing carries out yet."""
    change = item.change
    if change.change > ChangeClass.IN_PLACE and not item.rebuilds:
        first = change.decisive[0]
        way = f"TERMINATE {item.name};" if item.kind == "QUERY" else "DROP"
        raise UnsupportedError(
            f"cannot apply the change of {item.kind} {item.name}, of class {change.change.value} "
            f"({change.change.meaning}): {first.clause}: {first.text}",
            detail="\n".join(_details(item)),
            hint="Nothing has been changed. What else there is to do is applied without it; "
            f"this takes a {way} first: its query then begins anew.",
        )


def _details(item: Item) -> Iterator[str]:
    for part in item.change.decisive:
        yield f"{part.clause}: {part.text}; {part.effect}."
    if item.change.change is not ChangeClass.REFUSED and item.obstacle:
        yield f"It cannot be built anew from the log: {item.obstacle}."


def _only_altered(item: Item) -> bool:
    """Whether a definition goes on after its CREATE, with what that one does not say."""
    altered = any(isinstance(d.statement, nodes.AlterSource) for d in item.definitions)
    comments = all(d.clause == "COMMENT" for d in item.change.differences)
    return altered or (comments and item.thing[0] == "source")


def _columns(item: Item, there: Catalog) -> Iterator[tuple[str, SQLType]]:
    if item.thing[0] == "source":
        for column in there.get(item.name).schema:
            yield column.name, column.type


def _left(statement: Statement, columns: dict[str, SQLType], there: Catalog) -> Statement | None:
    """What of a definition does not hold yet; of ALTER `columns` become what it leaves."""
    match statement:
        case nodes.AlterSource():
            left = tuple(a for a in statement.alterations if _alter(a, columns))
            return replace(statement, alterations=left) if left else None
        case nodes.Comment():
            return None if there.get(statement.name).comment == statement.comment else statement
    return statement


def _alter(alteration: nodes.Alteration, columns: dict[str, SQLType]) -> bool:
    """Whether it changes anything."""
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
        case "sink":
            return nodes.DropSink(name=name)
    return nodes.DropSource(kind=Kind(item.kind), name=name)
