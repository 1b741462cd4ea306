"""Builds sink statements."""

from __future__ import annotations

from streamsql import nodes as n
from streamsql.errors import Span
from streamsql.nodes import Property


class SinkBuilder:
    """CREATE, DROP and DESCRIBE SINK."""

    def create_sink(
        self,
        span: Span,
        or_replace: bool | None,
        if_not_exists: bool | None,
        name: str,
        source: str,
        properties: tuple[Property, ...] | None,
    ) -> n.CreateSink:
        flags = bool(or_replace), bool(if_not_exists)
        return n.CreateSink(name, source, properties or (), *flags, span=span)

    def create_sink_of_all(
        self,
        span: Span,
        or_replace: bool | None,
        if_not_exists: bool | None,
        name: str,
        properties: tuple[Property, ...] | None,
    ) -> n.CreateSinkOfAll:
        flags = bool(or_replace), bool(if_not_exists)
        return n.CreateSinkOfAll(name, properties or (), *flags, span=span)

    def drop_sink(self, span: Span, if_exists: bool | None, name: str) -> n.DropSink:
        return n.DropSink(name, bool(if_exists), span=span)

    def describe_sink(self, span: Span, name: str) -> n.DescribeSink:
        return n.DescribeSink(name, span=span)
