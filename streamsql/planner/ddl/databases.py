"""CREATE SOURCE and DROP SOURCE: a database whose tables are captured together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.catalog import Catalog, Database, Thing
from streamsql.errors import CatalogError, ConfigError
from streamsql.nodes import CreateDatabase, DropDatabase
from streamsql.parser.generate.statements import to_sql
from streamsql.planner.ddl.captures import database_login, existing_database
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange, NothingToDo, Touches
from streamsql.planner.with_clause.databases import needed
from streamsql.planner.with_clause.properties import Place, read_properties


@dataclass(frozen=True)
class DatabasePlan(CatalogChange):
    """CREATE SOURCE, or DROP SOURCE where `database` is None."""

    name: str
    database: Database | None

    @property
    def touches(self) -> Touches:
        return Touches(beyond=True)

    @property
    def makes(self) -> tuple[Thing, ...]:
        return () if self.database is None else (("database", self.name),)

    @property
    def ends(self) -> tuple[Thing, ...]:
        return (("database", self.name),) if self.database is None else ()

    @property
    def done(self) -> tuple[str, ...]:
        if self.database is None:
            return (f"Source `{self.name}` was dropped.",)
        return ("Source created",)


@plan_statement.register
def _(statement: CreateDatabase, planning: Planning) -> DatabasePlan | NothingToDo:
    name, catalog = statement.name, planning.catalog
    if name in catalog.databases:
        message = f"Source {name} already exists."
        if statement.if_not_exists:
            return NothingToDo(message)
        hint = "DROP its tables and the source to create it with other properties."
        raise CatalogError(message, hint=hint, span=statement.span)
    for others in (catalog.sources, catalog.views, catalog.sinks):
        if name in others:
            raise CatalogError(
                f"{name} is the name of a stream, a table, a view or a sink", span=statement.span
            )
    given = read_properties(statement.properties, Place.DATABASE)
    hint = "It is the kind of database: CONNECTION='POSTGRES'."
    if needed("CONNECTION", hint, given, statement.span).upper() != "POSTGRES":
        raise ConfigError(
            "a source is a database of PostgreSQL", hint=hint, span=given.span("CONNECTION")
        )
    login = replace(database_login(given, statement.span), origin=name)
    return DatabasePlan(name, Database(name, login, to_sql(statement)))


@plan_statement.register
def _(statement: DropDatabase, planning: Planning) -> DatabasePlan | NothingToDo:
    name, catalog = statement.name, planning.catalog
    if name not in catalog.databases and statement.if_exists:
        return NothingToDo(f"Source {name} does not exist.")
    existing_database(name, catalog, statement.span)
    if used := sorted(source.name for source in catalog.captured_from(name)):
        raise CatalogError(
            f"Cannot drop the source {name}: {', '.join(used)} "
            f"{'is' if len(used) == 1 else 'are'} captured from it.",
            hint="DROP them first.",
            span=statement.span,
        )
    return DatabasePlan(name, None)


@apply.register
def _(planned: DatabasePlan, catalog: Catalog) -> None:
    if planned.database is None:
        catalog.databases.pop(planned.name, None)
    else:
        catalog.databases[planned.name] = planned.database
