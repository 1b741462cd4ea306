"""COMMENT ON."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import CatalogError
from streamsql.nodes import Comment
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange


@dataclass(frozen=True)
class CommentPlan(CatalogChange):
    """COMMENT ON STREAM | TABLE: the commented source."""

    source: Source

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("source", self.source.name),)

    @property
    def done(self) -> tuple[str, ...]:
        kind = self.source.kind.value.lower()
        what = "removed from" if self.source.comment is None else "set on"
        return (f"Comment {what} {kind} {self.source.name}.",)


@plan_statement.register
def _(statement: Comment, planning: Planning) -> CommentPlan:
    source = planning.catalog.get(statement.name)
    if source.kind is not statement.kind:
        raise CatalogError(
            f"{source.name} is a {source.kind.value.lower()}",
            hint=f"Write COMMENT ON {source.kind.value} {source.name} IS ..",
            span=statement.span,
        )
    return CommentPlan(replace(source, comment=statement.comment or None))


@apply.register
def _(planned: CommentPlan, catalog: Catalog) -> None:
    catalog.sources[planned.source.name] = planned.source
