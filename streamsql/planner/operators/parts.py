"""What a query says, part by part: what can change of it, each with its clause and place."""

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
"""Which subquery or side of a join, from the outside in; empty for the query itself."""


@dataclass(frozen=True)
class Part:
    """One thing that a query says."""

    place: Place
    clause: str
    name: str
    """Which of several in the clause: a column, an aggregate."""
    text: str
    types: tuple[SQLType, ...] = ()
    """Of the expressions in it, where state holds their values."""
    stage: int = 0
    """How many operators with state stand between it and the result."""
    keeps: bool = False
    """Whether it has a store of its own, of the keys that have passed."""
    columns: Mapping[str, tuple[str, SQLType]] = field(default_factory=dict)
    """Of what keeps rows: the columns that it keeps, and what they are."""
    names: str = ""
    """What the state calls what is in it, where that is not the text."""

    @property
    def key(self) -> tuple[Place, str, str]:
        """What is compared with what."""
        return self.place, self.clause, self.name


@dataclass(frozen=True)
class Reading:
    """Collects the parts of operators. A column with another name, from a subquery or an
    aggregation, is expanded to its expression."""

    needed: Mapping[int, frozenset[str]]
    """By the ids of operators, the columns that those above read."""
    keeping: frozenset[int]
    """The ids of the operators that keep state."""
    _meant: dict[Place, dict[str, Expression]] = field(default_factory=dict)
    """By place: the expressions of columns that are not themselves."""
    place: Place = ()
    stage: int = 0

    def inside(self, name: str) -> Reading:
        """In a subquery, or on a side of a join."""
        return replace(self, place=(*self.place, name))

    def behind(self, state: bool = True) -> Reading:
        """Behind an operator that keeps state."""
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
        """From here on, the columns of the rows represent these expressions."""
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
