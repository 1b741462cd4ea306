"""View: a relation of standard SQL over sources, kept up to date or evaluated once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.operators.scan import Scan
from streamsql.planner.operators.view_lineage import lineage_of
from streamsql.planner.operators.view_stores import stores_of
from streamsql.planner.relational import algebra
from streamsql.planner.relational.algebra import Field, RelationalPlan, relations
from streamsql.planner.relational.text import lines
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class View(Operator):
    """The rows of a relation. A view is a table of them by key."""

    scans: tuple[Scan, ...]
    """Its sources, each once."""
    plan: RelationalPlan
    columns: Schema
    """The key columns, or ROW_KEY as a hidden key, and the columns of the result."""
    fields: tuple[Field, ...]
    """The field of each column of the schema but the hidden key."""

    bindings = ()
    obstacles = ("a materialized view is maintained batch by batch",)
    deletions = Deletions.WRITTEN
    time_decides = False
    knows_cause = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return self.scans

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """The columns of sources that it reads."""
        scans = (each for each in relations(self.plan.root) if isinstance(each, algebra.Scan))
        names = dict.fromkeys(name for scan in scans for name, _ in scan.columns)
        return tuple(exp.Column(this=exp.to_identifier(name, quoted=True)) for name in names)

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def has_hidden_key(self) -> bool:
        """Whether the first column is ROW_KEY, and no field's: a result may have a column of that
        name, the key of a plain table."""
        return len(self.columns) > len(self.fields)

    @property
    def kind(self) -> Kind:
        return Kind.TABLE

    @property
    def line(self) -> str:
        return "View"

    @property
    def details(self) -> tuple[str, ...]:
        return tuple(self.text.splitlines())

    @cached_property
    def text(self) -> str:
        """The relation, an operator a line."""
        return "\n".join(lines(self.plan.root))

    @cached_property
    def definition(self) -> str:
        """Its columns and its relation, in which fields have numbers of their own: planning numbers
        all columns of the sources."""
        ids = {field.id for each in relations(self.plan.root) for field in each.fields}
        numbers: dict[str, int] = {}
        names = "|".join(map(re.escape, sorted(ids)))
        text = re.sub(
            rf"(?<!')\b({names})\b",
            lambda found: f"#{numbers.setdefault(found[0], len(numbers))}",
            self.text,
        )
        return f"{self.columns}\n{text}"

    def lineage(self) -> Lineage:
        found = lineage_of(self.plan.root, {s.source.name: s.lineage() for s in self.scans})
        shown = zip(self.schema.names[-len(self.fields) :], self.fields, strict=True)
        return replace(found, columns={name: found.column(field.id) for name, field in shown})

    def stores(self, root: Operator) -> Iterable[StateStore]:
        return stores_of(self.plan)

    def identity(self, root: Operator) -> Iterable[str]:
        yield f"view {self.definition}"

    def parts(self, at: Reading) -> Iterator[Part]:
        for scan in self.scans:
            yield from scan.parts(at)
        yield at.part("view", "", self.definition)

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return tuple(scan.source.name for scan in self.scans if scan.kind is Kind.TABLE)

    @property
    def needs_batch(self) -> str | None:
        recursive = any(isinstance(each, algebra.Recursion) for each in relations(self.plan.root))
        return "each step of WITH RECURSIVE is a query of its own" if recursive else None

    @property
    def differs_in_batch(self) -> str | None:
        for each in relations(self.plan.root):
            if isinstance(each, algebra.TopRows) and not each.order:
                return "LIMIT without ORDER BY takes any rows"
            if isinstance(each, algebra.TemporalFilter):
                return "the result changes with the time"
            if isinstance(each, algebra.TemporalJoin):
                return (
                    "a temporal join depends on the order in which the rows of both sides arrived"
                )
            if isinstance(each, algebra.ClosedRows):
                return "rows wait for the watermark, and late ones are not taken"
        return None
