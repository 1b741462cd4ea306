"""Builds ALTER STREAM | TABLE."""

from __future__ import annotations

from dataclasses import replace

from streamsql import nodes as n
from streamsql.errors import Span
from streamsql.nodes import ColumnDefinition
from streamsql.schema import Kind
from streamsql.types import SQLType


class AlterationBuilder:
    """Builds ALTER of streams and tables."""

    def alter_source(
        self, span: Span, kind: Kind, name: str, *alterations: n.Alteration
    ) -> n.AlterSource:
        return n.AlterSource(kind, name, alterations, span=span)

    def added_column(self, span: Span, column: ColumnDefinition) -> ColumnDefinition:
        return replace(column, span=span)

    def dropped_column(self, span: Span, if_exists: bool | None, name: str) -> n.DropColumn:
        return n.DropColumn(name, bool(if_exists), span=span)

    def renamed_column(self, span: Span, name: str, new_name: str) -> n.RenameColumn:
        return n.RenameColumn(name, new_name, span=span)

    def retyped_column(self, span: Span, name: str, type: SQLType) -> n.RetypeColumn:
        return n.RetypeColumn(name, type, span=span)
