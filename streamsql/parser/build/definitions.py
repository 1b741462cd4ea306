"""Builds objects without a topic: views and functions."""

from __future__ import annotations

from streamsql import nodes as n
from streamsql.errors import ParseError, Span
from streamsql.nodes import Parameter, Property, Query
from streamsql.parser.generate.expressions import expression_sql
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
        *parts: tuple[str, str],
    ) -> n.CreateFunction:
        given = dict(parts)
        if len(given) < len(parts) or "code" not in given:
            raise ParseError(
                "a function has one LANGUAGE and one text",
                hint="For example LANGUAGE SQL AS 'SELECT $1 + 1'.",
                span=span,
            )
        if "language" not in given:
            raise ParseError("a function has a LANGUAGE: SQL or PYTHON", span=span)
        return n.CreateFunction(
            name.upper(),
            parameters,
            returns,
            given["code"],
            bool(aggregate),
            bool(or_replace),
            bool(if_not_exists),
            given["language"],
            span=span,
        )

    def in_python(self, span: Span) -> tuple[str, str]:
        return "language", "PYTHON"

    def in_sql(self, span: Span) -> tuple[str, str]:
        return "language", "SQL"

    def function_text(self, span: Span, text: str) -> tuple[str, str]:
        return "code", text

    def function_result(self, span: Span, value: n.Expression) -> tuple[str, str]:
        return "code", f"SELECT {expression_sql(value)}"

    def drop_function(self, span: Span, if_exists: bool | None, name: str) -> n.DropFunction:
        return n.DropFunction(name.upper(), bool(if_exists), span=span)

    def aggregate(self, span: Span) -> bool:
        return True

    def parameters(self, span: Span, *parameters: Parameter) -> tuple[Parameter, ...]:
        names = [parameter.name for parameter in parameters]
        for parameter in parameters:
            if parameter.name and names.count(parameter.name) > 1:
                raise ParseError(f"parameter {parameter.name} is named twice", span=span)
        return parameters

    def parameter(self, span: Span, name: str, type: SQLType) -> Parameter:
        return Parameter(name, type, span)

    def unnamed_parameter(self, span: Span, type: SQLType) -> Parameter:
        return Parameter("", type, span)
