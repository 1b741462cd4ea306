"""Colours of SQL while it is typed, from the parser's own tokens."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

_CLASSES = {
    "TEXT_LITERAL": "class:sql.text",
    "UNCLOSED_TEXT": "class:sql.text",
    "QUOTED": "class:sql.name",
    "UNCLOSED_NAME": "class:sql.name",
    "COMMENT": "class:sql.comment",
    "UNCLOSED_COMMENT": "class:sql.comment",
    "INTEGER_LITERAL": "class:sql.number",
    "DECIMAL_LITERAL": "class:sql.number",
    "DOUBLE_LITERAL": "class:sql.number",
    "VARIABLE": "class:sql.variable",
    "SYMBOL": "class:sql.symbol",
    "ILLEGAL": "class:sql.illegal",
}

STYLE = Style.from_dict(
    {
        "sql.keyword": "#5f87d7 bold",
        "sql.function": "#00afaf",
        "sql.text": "#5faf5f",
        "sql.number": "#af87d7",
        "sql.comment": "#8a8a8a italic",
        "sql.variable": "#d7af5f",
        "sql.symbol": "#8a8a8a",
        "sql.illegal": "#d75f5f",
        "prompt": "#5f87d7 bold",
        "continuation": "#8a8a8a",
        "bottom-toolbar": "noreverse #8a8a8a",
        "bottom-toolbar.good": "#5faf5f",
        "bottom-toolbar.busy": "#d7af5f",
        "bottom-toolbar.bad": "#d75f5f bold",
        "completion-menu": "bg:#303030 #d0d0d0",
        "completion-menu.completion.current": "noreverse bg:#5f87d7 #ffffff",
        "completion-menu.meta.completion": "bg:#262626 #8a8a8a",
        "completion-menu.meta.completion.current": "noreverse bg:#444444 #d0d0d0",
        "auto-suggestion": "#6c6c6c",
    }
)


class SqlLexer(Lexer):
    """prompt-toolkit's view of the parser's lexer; half-written text is coloured too."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styled pieces of each line, by its number."""
        if not document.text:
            return lambda number: []
        lines: list[StyleAndTextTuples] = [[]]
        for style, text in coloured(document.text):
            head, *more = text.split("\n")
            lines[-1].append((style, head))
            for piece in more:
                lines.append([(style, piece)])
        return lambda number: lines[number] if number < len(lines) else []


def coloured(text: str) -> list[tuple[str, str]]:
    """Pieces of the text with their styles; together they are the text."""
    from streamsql.api.language import KEYWORDS, lexemes

    pieces = list(lexemes(text))
    styled = []
    for number, (kind, written, _) in enumerate(pieces):
        style = _CLASSES.get(kind, "")
        if kind == "WORD":
            follows = pieces[number + 1][1] if number + 1 < len(pieces) else ""
            if written.upper() in KEYWORDS:
                style = "class:sql.keyword"
            elif follows == "(":
                style = "class:sql.function"
        styled.append((style, written))
    return styled
