"""Where a text asks for a script: RUN SCRIPT names a file of the client, not of the server.

Told by the words alone, so that a server newer than the client can be sent statements that the
client does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamsql.errors import ParseError, Span
from streamsql.nodes import RunScript
from streamsql.parser import parse_one, split


@dataclass(frozen=True)
class Piece:
    """Statements to be sent, or the path of a script to be run here."""

    text: str = ""
    script: str | None = None


def pieces(sql: str, variables: Mapping[str, str] | None) -> Iterator[Piece]:
    """The text cut at each RUN SCRIPT. A piece keeps its place: what stands before it is blank.

    `variables` is read when a script's turn has come.
    """
    sent = 0
    for text, span in _statements(sql):
        if [word.upper() for word in text.split(None, 2)[:2]] != ["RUN", "SCRIPT"]:
            continue
        if sql[sent : span.start].strip(" \t\r\n;"):
            yield Piece(_blank(sql[:sent]) + sql[sent : span.start])
        statement = parse_one(_blank(sql[: span.start]) + text, variables)
        assert isinstance(statement, RunScript)
        yield Piece(script=statement.path)
        sent = span.end
    if sent == 0 or sql[sent:].strip(" \t\r\n;"):
        yield Piece(_blank(sql[:sent]) + sql[sent:])


def _statements(sql: str) -> list[tuple[str, Span]]:
    if "SCRIPT" not in sql.upper():
        return []
    try:
        return split(sql)
    except ParseError:
        # The server says what is wrong.
        return []


def _blank(text: str) -> str:
    return "".join(c if c in "\r\n" else " " for c in text)
