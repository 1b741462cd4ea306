"""The parts of a query that can change, each with its clause and place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from streamsql.catalog import Source
from streamsql.nodes import Expression
from streamsql.planner.operators.items import Named
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import reference
from streamsql.planner.types.binding import replace as replace_parts
from streamsql.schema import Column, Constraint, Schema
from streamsql.types import SQLType, type_of

Place = tuple[str, ...]
"""The subquery or side of a join, outermost first; empty for the query itself."""


@dataclass(frozen=True)
class Part:
    """One part of a query."""

    place: Place
    clause: str
    name: str
    """The column or aggregate, in a clause with several parts."""
    text: str
    types: tuple[SQLType, ...] = ()
    """The types of its expressions, if state holds their values."""
    stage: int = 0
    """The number of stateful operators between it and the result."""
    keeps: bool = False
    """Whether it has a store of the keys that have passed."""
    columns: Mapping[str, tuple[str, SQLType]] = field(default_factory=dict)
    """For stateful operators: the stored columns and their definitions."""
    names: str = ""
    """The names in the state, if they differ from the text."""

    @property
    def key(self) -> tuple[Place, str, str]:
        """The identity by which parts are compared."""
        return self.place, self.clause, self.name


@dataclass(frozen=True)
class Reading:
    """The place where operators state their parts. A column that is read by another name, from a
    subquery or an aggregation, is replaced by its expression."""

    needed: Mapping[int, frozenset[str]]
    """By the ids of operators, the columns that those above read."""
    keeping: frozenset[int]
    """The ids of the operators that keep state."""
    _meant: dict[Place, dict[str, Expression]] = field(default_factory=dict)
    """By place, the expressions of columns that are not plain columns of a source."""
    place: Place = ()
    stage: int = 0

    def inside(self, name: str) -> Reading:
        """In a subquery, or on a side of a join."""
        return replace(self, place=(*self.place, name))

    def behind(self, state: bool = True) -> Reading:
        """After a stateful operator."""
        return replace(self, stage=self.stage + state)

    def keeps(self, node: object) -> bool:
        return id(node) in self.keeping

    def part(
        self,
        clause: str,
        name: str,
        text: str,
        types: Sequence[SQLType] = (),
        *,
        keeps: bool = False,
        columns: Mapping[str, tuple[str, SQLType]] | None = None,
        names: str = "",
    ) -> Part:
        columns = columns or {}
        return Part(self.place, clause, name, text, tuple(types), self.stage, keeps, columns, names)

    def written_out(self, expression: Expression) -> Expression:
        meant = self.meant
        if not meant:
            return expression
        return replace_parts(
            expression,
            lambda node: (
                meant[node.name].copy()
                if isinstance(node, exp.Column) and node.name in meant
                else None
            ),
        )

    def text(self, expression: Expression) -> str:
        return expression_text(self.written_out(expression))

    def texts(self, items: Iterable[Named]) -> str:
        return ", ".join(self.text(item.expression) for item in items) or "nothing"

    def column_text(self, column: Column) -> str:
        value = exp.Null()
        value.type = column.type
        return self.text(reference(column.name, value))

    def columns(self, columns: Iterable[Column]) -> dict[str, tuple[str, SQLType]]:
        return {column.name: (self.column_text(column), column.type) for column in columns}

    @property
    def meant(self) -> Mapping[str, Expression]:
        return self._meant.get(self.place, {})

    def means(self, columns: Mapping[str, Expression]) -> None:
        """Replaces the expressions of the columns from here on."""
        self._meant[self.place] = dict(columns)

    def adds(self, columns: Mapping[str, Expression]) -> None:
        self.means({**self.meant, **columns})

    def stand_for(self, items: Iterable[Named]) -> dict[str, Expression]:
        return {item.name: self.written_out(item.expression) for item in items}

    def selected(self, schema: Schema) -> Iterator[Part]:
        for column in schema:
            yield self.part("SELECT", column.name, self.column_text(column), (column.type,))

    def constraints(self, source: Source, constraints: Iterable[Constraint]) -> Iterator[Part]:
        for constraint in constraints:
            name = f"{source.name}.{constraint.name}"
            yield self.part("CONSTRAINT", name, constraint.condition)
            yield self.part("ON VIOLATION of", name, constraint.on_violation.value)


def types_of(expressions: Iterable[Expression]) -> tuple[SQLType, ...]:
    return tuple(map(type_of, expressions))
