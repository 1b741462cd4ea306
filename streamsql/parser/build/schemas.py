"""Names of schemas, which databases have and we do not: that of the one they all have is taken."""

from __future__ import annotations

from streamsql.errors import ParseError, Span

_PUBLIC = "PUBLIC"


def check_schema(name: str, span: Span, hint: str | None = None) -> None:
    """ParseError for another one than `public`, in any case; `hint`: what else may be meant."""
    if name.upper() != _PUBLIC:
        raise ParseError(
            f"unknown schema {name}: the only schema is public",
            span=span,
            hint=hint or f"Leave {name} and the point behind it out.",
        )
