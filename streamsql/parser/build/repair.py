"""Builds statements on failed records and verification."""

from __future__ import annotations

from streamsql import nodes as n
from streamsql.errors import Span
from streamsql.nodes import Expression


class RepairBuilder:
    """DESCRIBE ERRORS, REPLAY ERRORS and VERIFY QUERY."""

    def describe_errors(self, span: Span, errors: None, query: str | None) -> n.DescribeErrors:
        return n.DescribeErrors(query, span=span)

    def replay_errors(
        self,
        span: Span,
        all: bool | None,
        query_id: str,
        where: Expression | None,
        dry_run: bool | None,
    ) -> n.ReplayErrors:
        return n.ReplayErrors(query_id, where, bool(all), bool(dry_run), span=span)

    def verify_query(self, span: Span, query_id: str) -> n.VerifyQuery:
        return n.VerifyQuery(query_id.upper(), span=span)

    def errors(self, span: Span) -> None:
        return None

    def of_query(self, span: Span, query_id: str) -> str:
        return query_id.upper()

    def all_(self, span: Span) -> bool:
        return True

    dry_run = all_
