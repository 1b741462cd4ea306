"""Builds objects without a topic: views and functions."""

from __future__ import annotations

from streamsql import nodes as n
from streamsql.errors import ParseError, Span
from streamsql.nodes import Parameter, Property, Query
from streamsql.types import SQLType


class ViewBuilder:
    """CREATE and DROP of views and functions."""

    def create_view(
        self,
        span: Span,
        or_replace: bool | None,
        if_not_exists: bool | None,
        name: str,
        columns: tuple[str, ...] | None,
        query: Query,
    ) -> n.CreateView:
        return n.CreateView(
            name, query, columns or (), bool(or_replace), bool(if_not_exists), span=span
        )

    def drop_view(self, span: Span, if_exists: bool | None, name: str, *options: str) -> n.DropView:
        if "DELETE TOPIC" in options:
            raise ParseError("a view has no topic to delete", span=span)
        return n.DropView(name, bool(if_exists), "CASCADE" in options, span=span)

    def create_materialized_view(
        self,
        span: Span,
        or_replace: bool | None,
        if_not_exists: bool | None,
        name: str,
        columns: tuple[str, ...] | None,
        properties: tuple[Property, ...] | None,
        query: Query,
    ) -> n.CreateMaterializedView:
        flags = bool(or_replace), bool(if_not_exists)
        return n.CreateMaterializedView(
            name, query, columns or (), properties or (), *flags, span=span
        )

    def drop_materialized_view(
        self, span: Span, if_exists: bool | None, name: str, *options: str
    ) -> n.DropMaterializedView:
        if "DELETE TOPIC" in options:
            raise ParseError("the topic of a materialized view goes with it", span=span)
        return n.DropMaterializedView(name, bool(if_exists), "CASCADE" in options, span=span)

    def delete_topic(self, span: Span) -> str:
        return "DELETE TOPIC"

    def cascade(self, span: Span) -> str:
        return "CASCADE"

    def create_function(
        self,
        span: Span,
        or_replace: bool | None,
        aggregate: bool | None,
        if_not_exists: bool | None,
        name: str,
        parameters: tuple[Parameter, ...],
        returns: SQLType,
        code: str,
    ) -> n.CreateFunction:
        return n.CreateFunction(
            name.upper(),
            parameters,
            returns,
            code,
            bool(aggregate),
            bool(or_replace),
            bool(if_not_exists),
            span=span,
        )

    def drop_function(self, span: Span, if_exists: bool | None, name: str) -> n.DropFunction:
        return n.DropFunction(name.upper(), bool(if_exists), span=span)

    def aggregate(self, span: Span) -> bool:
        return True

    def parameters(self, span: Span, *parameters: Parameter) -> tuple[Parameter, ...]:
        names = [parameter.name for parameter in parameters]
        for parameter in parameters:
            if names.count(parameter.name) > 1:
                raise ParseError(f"parameter {parameter.name} is named twice", span=span)
        return parameters

    def parameter(self, span: Span, name: str, type: SQLType) -> Parameter:
        return Parameter(name, type, span)
