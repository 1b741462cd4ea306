"""A catalog handed on: as JSON, and back. Completion in a shell elsewhere reads it, and whoever
looks up what a stream or table is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from streamsql.catalog import Catalog, QueryLinks, Source, View
from streamsql.errors import ParseError
from streamsql.nodes import CreateFunction, CreateView, Statement
from streamsql.parser import parse, parse_type, to_sql
from streamsql.schema import (
    Column,
    FormatSpec,
    KeyWindow,
    Kind,
    Namespace,
    Schema,
    TimestampColumn,
    Topic,
    WindowType,
)
from streamsql.types import PRIMITIVES, SQLType
from streamsql.types import to_sql as type_text

__all__ = ["Catalog", "Source", "decode_catalog", "encode_catalog"]

JSON = dict[str, Any]
S = TypeVar("S", bound=Statement)


def encode_catalog(catalog: Catalog) -> JSON:
    """All that a catalog holds; functions and views by the statements that made them."""
    return {
        "sources": [_source(source) for source in catalog.sources.values()],
        "types": {name: type_text(kind) for name, kind in catalog.types.items()},
        "queries": [asdict(links) for links in catalog.queries.values()],
        "views": [
            {"name": v.name, "reads": sorted(v.reads), "statement": v.statement}
            for v in catalog.views.values()
        ],
        "functions": {name: to_sql(made) for name, made in catalog.functions.items()},
        "next_query": catalog.next_query,
    }


def decode_catalog(given: Mapping[str, Any]) -> Catalog:
    """The catalog that `encode_catalog` wrote.

    A view or function whose statement this version cannot read is left out.
    """
    sources = (_decode_source(source) for source in given["sources"])
    links = (QueryLinks(q["id"], tuple(q["reads"]), q["writes"]) for q in given["queries"])
    functions = ((name, _parsed(text, CreateFunction)) for name, text in given["functions"].items())
    return Catalog(
        {source.name: source for source in sources},
        {name: _type(text) for name, text in given["types"].items()},
        {query.id: query for query in links},
        {view.name: view for view in map(_decode_view, given["views"]) if view is not None},
        {name: made for name, made in functions if made is not None},
        given["next_query"],
    )


def _source(source: Source) -> JSON:
    topic = source.topic
    return {
        "name": source.name,
        "kind": source.kind.value,
        "columns": [
            [c.name, type_text(c.type), c.namespace.value, c.header] for c in source.schema
        ],
        "topic": {
            "name": topic.name,
            "key_format": _format(topic.key_format),
            "value_format": _format(topic.value_format),
            "window": [topic.window.type.value, topic.window.size_ms] if topic.window else None,
            "partitions": topic.partitions,
            "replicas": topic.replicas,
            "retention_ms": topic.retention_ms,
        },
        "timestamp": [source.timestamp.name, source.timestamp.format] if source.timestamp else None,
        "is_source": source.is_source,
        "created_by_query": source.created_by_query,
        "statement": source.statement,
    }


def _decode_source(given: JSON) -> Source:
    topic = given["topic"]
    window = topic["window"]
    columns = (
        Column(name, _type(text), Namespace(namespace), header)
        for name, text, namespace, header in given["columns"]
    )
    return Source(
        given["name"],
        Kind(given["kind"]),
        Schema(tuple(columns)),
        Topic(
            topic["name"],
            FormatSpec(*topic["key_format"]),
            FormatSpec(*topic["value_format"]),
            KeyWindow(WindowType(window[0]), window[1]) if window else None,
            topic["partitions"],
            topic["replicas"],
            topic["retention_ms"],
        ),
        TimestampColumn(*given["timestamp"]) if given["timestamp"] else None,
        given["is_source"],
        given["created_by_query"],
        given["statement"],
    )


def _decode_view(given: JSON) -> View | None:
    made = _parsed(given["statement"], CreateView)
    if made is None:
        return None
    return View(given["name"], made.query, frozenset(given["reads"]), given["statement"])


def _parsed(text: str, kind: type[S]) -> S | None:
    try:
        found = parse(text)
    except ParseError:
        return None
    return next((statement for statement in found if isinstance(statement, kind)), None)


def _format(spec: FormatSpec) -> list[Any]:
    return [spec.name, dict(spec.properties)]


def _type(text: str) -> SQLType:
    return PRIMITIVES.get(text) or parse_type(text)
