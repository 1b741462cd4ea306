"""Tokenizer: words, literals, comments, and their positions. It never fails: an invalid piece
becomes ILLEGAL or UNCLOSED, and the parser reports it (the shell highlights incomplete text with
the same tokens)."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from lark import Token

from streamsql.errors import Span
from streamsql.parser.tokens.keywords import KEYWORDS

SYMBOLS: dict[str, str] = {
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ".": "DOT",
    "=": "EQUAL",
    "<": "LESSTHAN",
    ">": "MORETHAN",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    ";": "SEMICOLON",
    "->": "ARROW",
    "->>": "DOUBLE_ARROW",
    "#>": "HASH_ARROW",
    "#>>": "HASH_DOUBLE_ARROW",
    ":=": "ASSIGN",
    "=>": "LAMBDA_ARROW",
    "||": "CONCAT",
    "<>": "NOT_EQUAL",
    "!=": "BANG_EQUAL",
    "<=": "LESS_EQUAL",
    ">=": "GREATER_EQUAL",
    "::": "DOUBLE_COLON",
    "~": "TILDE",
    "~*": "TILDE_STAR",
    "!~": "BANG_TILDE",
    "!~*": "BANG_TILDE_STAR",
    "~~": "DOUBLE_TILDE",
    "~~*": "DOUBLE_TILDE_STAR",
    "!~~": "BANG_DOUBLE_TILDE",
    "!~~*": "BANG_DOUBLE_TILDE_STAR",
    "<<": "SHIFT_LEFT",
    "&": "AMPERSAND",
    "#": "HASH",
    "|": "BAR",
    "^": "CARET",
    ":": "COLON",
    "@>": "CONTAINS",
    "<@": "CONTAINED",
    "&&": "OVERLAPS",
    "?": "QUESTION",
    "?|": "ANY_KEY",
    "?&": "ALL_KEYS",
    "#-": "HASH_MINUS",
    "^@": "CARET_AT",
    "@?": "AT_QUESTION",
    "@@": "AT_AT",
    "@": "AT_SIGN",
    "|/": "SQUARE_ROOT",
    "||/": "CUBE_ROOT",
}
"""Symbol -> terminal of the grammar."""

SYMBOL_TEXT: dict[str, str] = {terminal: text for text, terminal in SYMBOLS.items()}
SYMBOL_TEXT["LAMBDA_PAREN"] = "("
PATTERN_MARKS: dict[str, str] = {
    "{": "LBRACE",
    "}": "RBRACE",
    "$": "DOLLAR",
}
"""Characters that are tokens in a PATTERN only -> terminal of the grammar."""
SYMBOL_TEXT |= {terminal: text for text, terminal in PATTERN_MARKS.items()}
SYMBOL_TEXT["EXCLUDE"] = "{"

_WORD = "[A-Za-z0-9_@]"
_TOKEN = re.compile(
    rf"""
      (?P<SPACE> [\s\u00a0\ufeff]+ )
    | (?P<COMMENT> --[^\r\n]* | /\*.*?\*/ )
    | (?P<UNCLOSED_COMMENT> /\*.* )
    | (?P<ESCAPED_TEXT> [eE]'(?: [^'\\] | \\. | '' )*' )
    | (?P<WORD> [A-Za-z_]{_WORD}* )
    | (?P<TEXT_LITERAL> '[^']*(?:''[^']*)*' )
    | (?P<UNCLOSED_TEXT> '.* )
    | (?P<QUOTED> `[^`]*(?:``[^`]*)*` | "[^"]*(?:""[^"]*)*" )
    | (?P<UNCLOSED_NAME> [`"].* )
    | (?P<DOUBLE_LITERAL>
        (?: [0-9]+\.[0-9]* | \.[0-9]+ ) [eE][+-]?[0-9]+
      | [0-9]+[eE][+-][0-9]+
      | [0-9]+[eE][0-9]+(?!{_WORD}) )
    | (?P<DECIMAL_LITERAL> [0-9]+\.[0-9]* | \.[0-9]+ )
    | (?P<INTEGER_LITERAL> [0-9]+(?!{_WORD}) )
    | (?P<DIGIT_WORD> [0-9]{_WORD}+ )
    | (?P<ESCAPED_VARIABLE> \$\$\{{[^}}]*\}} )
    | (?P<VARIABLE> \$\{{[A-Za-z_]{_WORD}*\}} )
    | (?P<DOLLAR_TEXT> \$(?P<tag>(?:[A-Za-z_][A-Za-z0-9_]*)?)\$.*?\$(?P=tag)\$ )
    | (?P<SYMBOL> ->>? | \#>>? | \#- | @[>?@]? | <@ | \^@ | \|\|?/ | && | \?[|&]?
        | :: | := | => | !?~~?\*?
        | \|\| | <> | != | <= | >= | <<
        | [-()\[\],.=<>+*/%;&\#|^:] )
    | (?P<ILLEGAL> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_LITERALS = {
    "INTEGER_LITERAL": "INTEGER_LITERAL",
    "DECIMAL_LITERAL": "DECIMAL_LITERAL",
    "DOUBLE_LITERAL": "DOUBLE_LITERAL",
}
_TRIVIA = frozenset({"SPACE", "COMMENT"})


_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ASCII = 128
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescaped(escape: re.Match[str]) -> str:
    """What a backslash of E'..' and the characters after it stand for."""
    short, four, eight, octal, character = escape.groups()
    code = short or four or eight
    if code or octal:
        number = int(code, 16) if code else int(octal, 8)
        if (short or octal) and number >= _ASCII:
            return bytes([number & 0xFF]).decode("ascii", "surrogateescape")
        return chr(number) if number <= sys.maxunicode else escape.group()
    return _ESCAPED.get(character, character)


def _escaped_text(written: str) -> str | None:
    """The value of E'..', in which `\\x` and octal digits are bytes; None if they are no UTF-8."""
    text = _ESCAPE.sub(_unescaped, written[2:-1].replace("''", "'"))
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return None


class Lines:
    """Finds the line and column (from 1) of an offset, splitting lines as `str.splitlines`."""

    def __init__(self, text: str) -> None:
        lengths = (len(line) for line in text.splitlines(keepends=True)[:-1])
        self._starts = [0, *accumulate(lengths)]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The piece of the text between two offsets, with the place of its beginning."""
        return Span(start, end, *self.place(start))


def lexemes(text: str) -> Iterator[tuple[str, str, int]]:
    """(kind, text, start) of every piece, in the lexer's own kinds: together the whole text."""
    for match in _TOKEN.finditer(text):
        yield match.lastgroup or "ILLEGAL", match.group(), match.start()


def lex(text: str, base: int = 0, lines: Lines | None = None) -> list[Token]:
    """The tokens of `text` without blanks and comments. `str(token)` is the original text,
    `token.value` its value: a folded name, the contents of a string. `base` and `lines` are the
    position of a piece in a larger text."""
    places = lines or Lines(text)
    return [
        make_token(kind, written, base + start, places)
        for kind, written, start in lexemes(text)
        if kind not in _TRIVIA
    ]


def make_token(kind: str, written: str, start: int, lines: Lines) -> Token:
    """The token of a lexeme of the lexer's own kind, written like this at an offset."""
    type_, value = _meaning(kind, written)
    line, column = lines.place(start)
    token = Token(type_, written, start, line, column, None, None, start + len(written))
    token.value = value
    return token


def _meaning(kind: str, written: str) -> tuple[str, str]:
    """Terminal and value of a lexeme."""
    if kind == "WORD":
        word = written.upper()
        return (word if word in KEYWORDS and word != "VERBOSE" else "IDENTIFIER"), word
    if kind == "SYMBOL":
        return SYMBOLS[written], written
    if kind == "TEXT_LITERAL":
        return kind, written[1:-1].replace("''", "'")
    if kind == "ESCAPED_TEXT":
        text = _escaped_text(written)
        return ("ILLEGAL", written) if text is None else ("TEXT_LITERAL", text)
    if kind == "DOLLAR_TEXT":
        size = written.index("$", 1) + 1
        return "TEXT_LITERAL", written[size:-size]
    if kind == "QUOTED":
        quote = written[0]
        return "IDENTIFIER", written[1:-1].replace(quote * 2, quote)
    if kind == "DIGIT_WORD":
        return "IDENTIFIER", written.upper()
    return _LITERALS.get(kind, kind), written


def is_quoted(token: Token) -> bool:
    """Whether a name was written between backticks or double quotes."""
    return token.type == "IDENTIFIER" and str(token)[:1] in ("`", '"')
