"""What all entities have in common: the statement they answer, and its warnings."""

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
    """A statement that was run, what it gave, and the engine it was run in."""

    statement: PreparedStatement
    results: Sequence[Result]
    session: Session
    engine: Inspection

    @property
    def message(self) -> str:
        """What the statement says of itself, warnings not counted."""
        return "\n".join(r.text for r in self.results if isinstance(r, Message))

    @property
    def query_id(self) -> str | None:
        """The id of the query that the statement concerned; None where it was none, or several."""
        ids = [r.query_id for r in self.results if isinstance(r, Message) and r.query_id]
        return ids[0] if len(ids) == 1 else None

    @property
    def tokens(self) -> list[str]:
        """Of what the statement has written, for read-your-writes."""
        return [r.token for r in self.results if isinstance(r, Message) and r.token]

    @property
    def warnings(self) -> list[str]:
        """What the statement has warned of."""
        return [r.text for r in self.results if isinstance(r, Warning)]

    @property
    def text(self) -> str:
        """Text to be shown as it is, such as a plan."""
        return "\n".join(r.text for r in self.results if isinstance(r, Text))

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """The rows of all tables by the names of their columns."""
        return [
            dict(zip((f.name for f in r.fields), row, strict=True))
            for r in self.results
            if isinstance(r, Rows)
            for row in r.rows
        ]

    def entity(self, kind: str, /, **content: Any) -> JSON:
        """An entity of the answer to this statement."""
        return {
            "@type": kind,
            "statementText": statement_text(self.statement),
            **content,
            "warnings": [{"message": text} for text in self.warnings],
        }


Builder = Callable[[Executed], JSON | None]
"""The entity for a statement of one kind; None where the answer holds none."""


def statement_text(statement: PreparedStatement) -> str:
    """The statement as it was written, but for secrets, ended by its semicolon."""
    return mask(statement.text) + ";"
