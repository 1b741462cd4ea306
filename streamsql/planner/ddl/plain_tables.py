"""CREATE TABLE without WITH: a table with a topic of its own, whose rows statements change."""

from __future__ import annotations

from dataclasses import replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import CatalogError, UnsupportedError
from streamsql.nodes import CreateSource
from streamsql.parser.generate.statements import to_sql as statement_sql
from streamsql.planner.ddl.columns import declared_schema
from streamsql.planner.ddl.topics import existing_topic
from streamsql.planner.ddl.watermarks import declared_watermark
from streamsql.planner.plans.statements import SourcePlan, TopicLookup
from streamsql.planner.relational.typing import standard
from streamsql.schema import ROW_KEY, Column, FormatSpec, Kind, Namespace, Schema, Topic
from streamsql.types import STRING, quote

FORMAT = "JSON"
PARTITIONS = 1
"""One partition: the changes of a transaction are read in their order."""


def is_plain(statement: CreateSource) -> bool:
    """Whether it makes a plain table: no topic and no format is named."""
    return (
        statement.kind is Kind.TABLE
        and bool(statement.columns)
        and not statement.properties
        and not statement.is_source
        and not statement.captures
    )


def plan_plain_table(
    statement: CreateSource, catalog: Catalog, topics: TopicLookup | None
) -> SourcePlan:
    """The topic is named as the table, compacted, and made with it."""
    if statement.or_replace and statement.name in catalog.sources:
        raise UnsupportedError(
            f"{quote(statement.name)} is a plain table, which CREATE OR REPLACE cannot change.",
            hint=f"DROP TABLE {statement.name} deletes it with its rows.",
            span=statement.span,
        )
    if existing_topic(topics, statement.name) is not None:
        raise CatalogError(
            f"A topic named '{statement.name}' exists, and a table without WITH has one of its "
            "own.",
            hint=f"A table over that topic is CREATE TABLE {statement.name} (..) WITH "
            f"(KAFKA_TOPIC='{statement.name}', ..).",
            span=statement.span,
        )
    schema = declared_schema(statement.kind, statement.columns, catalog.types)
    schema = Schema(tuple(replace(c, type=standard(c.type)) for c in schema))
    if not schema.key:
        schema = Schema((Column(ROW_KEY, STRING, Namespace.KEY), *schema))
    watermark = declared_watermark(statement, schema)
    if statement.append_only and any(c.name != ROW_KEY for c in schema.key):
        raise UnsupportedError(
            f"{quote(statement.name)} is APPEND ONLY and has a PRIMARY KEY, whose rows INSERT "
            "replaces.",
            hint="Leave PRIMARY KEY out: each row then has a hidden key of its own.",
            span=statement.span,
        )
    spec = FormatSpec(FORMAT)
    source = Source(
        statement.name,
        Kind.TABLE,
        schema,
        Topic(statement.name, spec, spec, partitions=PARTITIONS),
        statement=statement_sql(statement),
        order=tuple(column.name for column in statement.columns),
        definitions=statement.columns,
        watermark=watermark,
        append_only=statement.append_only,
    )
    return SourcePlan(source, create_topic=topics is not None, replaces=False)
