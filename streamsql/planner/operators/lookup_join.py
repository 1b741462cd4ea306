"""LookupJoin: a stream's rows with those of a lookup table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from streamsql.catalog import Lookup, Source
from streamsql.nodes import Expression, JoinType
from streamsql.planner.operators.edges import Edge, Transformation
from streamsql.planner.operators.lineage import Lineage, influence
from streamsql.planner.operators.operator import Binding, RowByRow
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.windows import span_text
from streamsql.schema import ROWTIME, Column, Namespace, Schema
from streamsql.types import quote


@dataclass(frozen=True)
class LookupJoin(RowByRow):
    """Each row joined with the row whose key equals `keys`, an expression over the input for each
    key column of `lookup`, as of processing time. Rows keep their key, time and order.

    An INNER join drops rows without a match. For a LEFT join, a row that fails the `condition`,
    over all columns, is one without a match.
    """

    lookup: Source
    alias: str
    type: JoinType
    keys: tuple[Expression, ...]
    condition: Expression | None = None

    @cached_property
    def schema(self) -> Schema:
        before = [column for column in self.input.schema if column != ROWTIME]
        return Schema((*before, *self.added, ROWTIME))

    @property
    def added(self) -> tuple[Column, ...]:
        columns = self.lookup.schema
        return tuple(Column(f"{self.alias}.{c.name}", c.type, Namespace.VALUE) for c in columns)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*self.keys, *(() if self.condition is None else (self.condition,)))

    @property
    def bindings(self) -> Iterable[Binding]:
        return ((e, self if e is self.condition else self.input) for e in self.expressions)

    @property
    def line(self) -> str:
        return f"Lookup join {lookup_line(self)}"

    def lineage(self) -> Lineage:
        found, source = self.input.lineage(), self.lookup
        by = Transformation.JOIN
        compared = found.influences_of(by, self.keys)
        keys = frozenset(Edge(source.name, column.name, by) for column in source.schema.key)
        columns = {
            f"{self.alias}.{column.name}": frozenset(
                {Edge(source.name, column.name, Transformation.IDENTITY)}
            )
            for column in source.schema
        }
        found = replace(found.adding(columns), reads=found.reads | {source.name})
        found = found.influenced(keys, compared)
        if self.condition is not None:
            found = found.influenced(influence(by, self.condition, found.columns))
        return found

    def parts(self, at: Reading) -> Iterator[Part]:
        yield from self.input.parts(at)
        yield at.part("lookup", self.alias, lookup_line(self))

    @property
    def differs_in_batch(self) -> str | None:
        return f"lookups in {self.lookup.name} may return other rows than at processing time"


def lookup_text(plan: LookupJoin) -> str:
    """`INNER in T AS X ON S.A = X.ID`."""
    source = quote(plan.lookup.name)
    alias = f" AS {quote(plan.alias)}" if plan.alias != plan.lookup.name else ""
    pairs = zip(plan.keys, plan.lookup.schema.key, strict=True)
    met = " AND ".join(f"{expression_text(e)} = {plan.alias}.{key.name}" for e, key in pairs)
    if plan.condition is not None:
        met += f" AND {expression_text(plan.condition)}"
    return f"{plan.type.value} in {source}{alias} ON {met}"


def lookup_line(plan: LookupJoin) -> str:
    """The same, and the location."""
    assert plan.lookup.lookup is not None
    return f"{lookup_text(plan)}: {place_text(plan.lookup.lookup)}"


def lookup_facts(lookup: Lookup) -> Mapping[str, str]:
    """The location and the request settings by property; empty texts for unset ones."""
    ttl = span_text(lookup.ttl_ms)
    whole = f"all rows; checked for changes after {ttl}"
    if lookup.connection == "ICEBERG":
        return {
            "Connection": "ICEBERG",
            "Catalog": lookup.catalog,
            "URL": "" if lookup.place == lookup.warehouse else lookup.place,
            "Warehouse": lookup.warehouse,
            "Table": lookup.table,
            "User": lookup.user,
            "Password": lookup.password,
            "Cache": whole,
        }
    if lookup.connection == "FILE":
        return {
            "Connection": "FILE",
            "Path": lookup.place,
            "Format": lookup.format,
            "Cache": whole,
        }
    known = f"{lookup.rows} rows for {ttl}" if lookup.caches else "none"
    limit = "" if lookup.per_second is None else f"{lookup.per_second} a second at the most"
    return {
        "Connection": "JDBC",
        "URL": lookup.place,
        "Table": lookup.table,
        "User": lookup.user,
        "Password": lookup.password,
        "Cache": known,
        "Lookups": limit,
    }


def lake_text(lookup: Lookup) -> str:
    """A table of Iceberg, and the place of its catalog."""
    return f"Iceberg table {lookup.table} in '{lookup.place}'{lookup.as_of}"


def place_text(lookup: Lookup) -> str:
    """The same in one line."""
    ttl = span_text(lookup.ttl_ms)
    if lookup.connection == "FILE":
        return f"{lookup.format} in '{lookup.place}', checked for changes after {ttl}"
    if lookup.connection == "ICEBERG":
        return f"{lake_text(lookup)}, checked for changes after {ttl}"
    cached = f"{lookup.rows} rows cached for {ttl}" if lookup.caches else "no cache"
    limit = "" if lookup.per_second is None else f", {lookup.per_second} lookups a second"
    return f"table {lookup.table} of {lookup.place}, {cached}{limit}"
