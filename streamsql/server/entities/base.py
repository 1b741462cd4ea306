"""Common fields of entities: statement and warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamsql.api.inspection import Inspection
from streamsql.engine import PreparedStatement
from streamsql.masking import mask
from streamsql.results import Message, Result, Rows, Text, Warning
from streamsql.session import Session

JSON = dict[str, Any]


@dataclass(frozen=True)
class Executed:
    """A completed statement with its results and engine."""

    statement: PreparedStatement
    results: Sequence[Result]
    session: Session
    engine: Inspection

    @property
    def message(self) -> str:
        """The statement's message, without warnings."""
        return "\n".join(r.text for r in self.results if isinstance(r, Message))

    @property
    def query_id(self) -> str | None:
        """The id of the query that the statement concerned; None for none or several."""
        ids = [r.query_id for r in self.results if isinstance(r, Message) and r.query_id]
        return ids[0] if len(ids) == 1 else None

    @property
    def tokens(self) -> list[str]:
        """Consistency tokens of the statement's writes."""
        return [r.token for r in self.results if isinstance(r, Message) and r.token]

    @property
    def warnings(self) -> list[str]:
        return [r.text for r in self.results if isinstance(r, Warning)]

    @property
    def text(self) -> str:
        """Preformatted text, such as a plan."""
        return "\n".join(r.text for r in self.results if isinstance(r, Text))

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        return [
            dict(zip((f.name for f in r.fields), row, strict=True))
            for r in self.results
            if isinstance(r, Rows)
            for row in r.rows
        ]

    def entity(self, kind: str, /, **content: Any) -> JSON:
        return {
            "@type": kind,
            "statementText": statement_text(self.statement),
            **content,
            "warnings": [{"message": text} for text in self.warnings],
        }


Builder = Callable[[Executed], JSON | None]


def statement_text(statement: PreparedStatement) -> str:
    """The statement's text with its semicolon, without secrets."""
    return mask(statement.text) + ";"
