"""Splits a text at RUN SCRIPT, which names a file of the client. Uses keywords only, so that a
newer server can receive statements that the client does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamsql.errors import ParseError, Span


@dataclass(frozen=True)
class Piece:
    """Statements to be sent, or the path of a script to be run here."""

    text: str = ""
    script: str | None = None


def pieces(sql: str, variables: Mapping[str, str] | None) -> Iterator[Piece]:
    """The text split at each RUN SCRIPT. A piece keeps its position: preceding text is blanked.
    `variables` are read at the turn of a script."""
    if "SCRIPT" not in sql.upper():
        yield Piece(sql)
        return
    # The parser takes longer to load than a small query.
    from streamsql.api.language import script_path

    sent = 0
    for text, span in _statements(sql):
        if [word.upper() for word in text.split(None, 2)[:2]] != ["RUN", "SCRIPT"]:
            continue
        if sql[sent : span.start].strip(" \t\r\n;"):
            yield Piece(_blank(sql[:sent]) + sql[sent : span.start])
        yield Piece(script=script_path(_blank(sql[: span.start]) + text, variables))
        sent = span.end
    if sent == 0 or sql[sent:].strip(" \t\r\n;"):
        yield Piece(_blank(sql[:sent]) + sql[sent:])


def _statements(sql: str) -> list[tuple[str, Span]]:
    from streamsql.api.language import split

    try:
        return split(sql)
    except ParseError:
        # The server reports the error.
        return []


def _blank(text: str) -> str:
    return "".join(c if c in "\r\n" else " " for c in text)
