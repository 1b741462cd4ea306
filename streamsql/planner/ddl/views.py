"""CREATE VIEW: a query with a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.catalog import Catalog, Source, Thing, View
from streamsql.errors import CatalogError, ConfigError, PlanError, Span, did_you_mean
from streamsql.functions.user import using
from streamsql.nodes import CreateView, DropView, Query, SelectAll, Subquery
from streamsql.parser.generate.statements import to_sql
from streamsql.planner.ddl.drops import check_not_a_sink, check_not_viewed, views_over
from streamsql.planner.ddl.sources import check_source_name
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange, NothingToDo
from streamsql.planner.relational.planning import standard_plan
from streamsql.planner.select.build import build_inner
from streamsql.planner.select.named_queries import names_in
from streamsql.properties import CREATE_OR_REPLACE, SEMANTICS, get_bool, get_text
from streamsql.schema import Column, FormatSpec, Kind, Schema, Topic
from streamsql.types import quote

_NO_TOPIC = Topic("", FormatSpec("NONE"), FormatSpec("NONE"))


@dataclass(frozen=True)
class ViewPlan(CatalogChange):
    """CREATE VIEW, or DROP VIEW where `view` is None; `others` are views that go with it."""

    name: str
    view: View | None
    others: tuple[str, ...] = ()
    replaces: bool = False

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("view", self.name),) if self.view is not None else ()

    @property
    def ends(self) -> tuple[Thing, ...]:
        gone = (self.name, *self.others) if self.view is None else ()
        return tuple(("view", name) for name in gone)

    @property
    def done(self) -> tuple[str, ...]:
        if self.view is not None:
            return ("View replaced" if self.replaces else "View created",)
        return tuple(f"View `{name}` was dropped." for _, name in self.ends)


def plan_create_view(
    statement: CreateView, catalog: Catalog, session: Mapping[str, str]
) -> ViewPlan | NothingToDo:
    name = statement.name
    check_source_name(name)
    check_not_a_sink(name, catalog, statement.span)
    taken = catalog.sources.get(name)
    if taken is not None:
        kind = taken.kind.value.lower()
        raise CatalogError(
            f"Cannot add view '{name}': A {kind} with the same name already exists",
            span=statement.span,
        )
    if name in catalog.views and statement.if_not_exists:
        return NothingToDo(
            f"Cannot add view {quote(name)}: A view with the same name already exists."
        )
    _check_replacing(statement, catalog, session)
    query = statement.query
    if statement.columns:
        inner = Subquery(query, name, statement.span, columns=statement.columns)
        query = Query((SelectAll(),), inner, span=statement.span)
    standard = get_text(session, SEMANTICS) == "standard"
    if query.emit is not None or (
        not standard and (query.limit is not None or query.offset is not None or query.order_by)
    ):
        raise PlanError(
            "the query of a view has no EMIT, no ORDER BY and no LIMIT",
            hint="Write them where the view is selected from.",
            span=statement.span,
        )
    reads = frozenset(names_in(query))
    view = View(name, query, reads, to_sql(statement), standard)
    if standard:
        if reads & {name, *views_over([name], catalog)}:
            raise PlanError(f"view {name} reads itself", span=statement.span)
        standard_plan(query, catalog)
        return ViewPlan(name, view, replaces=name in catalog.views)
    # A view must not read the view that it replaces, directly or through other views.
    after = catalog.copy()
    after.views[name] = view
    build_inner(query, after, name)
    return ViewPlan(name, view, replaces=name in catalog.views)


def _check_replacing(statement: CreateView, catalog: Catalog, session: Mapping[str, str]) -> None:
    if statement.or_replace and get_bool(session, CREATE_OR_REPLACE) is False:
        raise ConfigError(
            f"Cannot CREATE OR REPLACE: it is switched off by '{CREATE_OR_REPLACE}'",
            span=statement.span,
        )
    if statement.name in catalog.views and not statement.or_replace:
        raise CatalogError(
            f"Cannot add view '{statement.name}': A view with the same name already exists",
            hint=f"Use CREATE OR REPLACE VIEW, or DROP VIEW {statement.name} first.",
            span=statement.span,
        )


def source_of(view: View, catalog: Catalog) -> Source:
    """Schema of the view for its readers."""
    with using(functions_of(catalog)):
        if not view.is_standard:
            return build_inner(view.query, catalog, view.name).source
        output = standard_plan(view.query, catalog).output
    schema = Schema(tuple(Column(field.name, field.type) for field in output))
    return Source(view.name, Kind.TABLE, schema, _NO_TOPIC)


def check_not_a_view(name: str, catalog: Catalog, span: Span | None) -> None:
    """CatalogError for a stream or table with the name of a view."""
    if name in catalog.views:
        raise CatalogError(
            f"Cannot add '{name}': A view with the same name already exists",
            hint=f"Use another name, or DROP VIEW {name} first.",
            span=span,
        )


def plan_drop_view(statement: DropView, catalog: Catalog) -> ViewPlan | NothingToDo:
    name = statement.name
    if name not in catalog.views:
        if name in catalog.sources:
            kind = catalog.sources[name].kind.value
            raise CatalogError(
                f"Incompatible data source type is {kind}, but statement was DROP VIEW",
                hint=f"Write DROP {kind} {name}.",
                span=statement.span,
            )
        message = f"View {name} does not exist."
        if statement.if_exists:
            return NothingToDo(message)
        raise CatalogError(message, hint=did_you_mean(name, catalog.views), span=statement.span)
    if not statement.cascade:
        check_not_viewed(name, catalog, statement.span)
    return ViewPlan(name, None, views_over([name], catalog))


@plan_statement.register
def _(statement: CreateView, planning: Planning) -> ViewPlan | NothingToDo:
    return plan_create_view(statement, planning.catalog, planning.session)


@plan_statement.register
def _(statement: DropView, planning: Planning) -> ViewPlan | NothingToDo:
    return plan_drop_view(statement, planning.catalog)


@apply.register
def _(planned: ViewPlan, catalog: Catalog) -> None:
    if planned.view is not None:
        catalog.views[planned.name] = planned.view
        return
    for name in (planned.name, *planned.others):
        catalog.views.pop(name, None)
