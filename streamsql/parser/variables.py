"""`${name}`: replaces variables in the tokens of a statement, so that a value can be a name, a
literal or part of a string, but never more than that (ksqlDB's variable substitution)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lark import Token

from streamsql.errors import ParseError, Span, did_you_mean
from streamsql.parser.tokens.keywords import RESERVED
from streamsql.parser.tokens.lexer import lex

MAX_SUBSTITUTED = 1_000_000
"""Maximum number of characters of a statement's substituted variables, which bounds memory."""

_IN_TEXT = re.compile(r"\$(\$\{[^}]*\})|\$\{([A-Za-z_][A-Za-z0-9_@]*)\}", re.ASCII)
_NUMBERS = frozenset({"INTEGER_LITERAL", "DECIMAL_LITERAL", "DOUBLE_LITERAL"})


def substitute(tokens: list[Token], variables: Mapping[str, str] | None) -> list[Token]:
    """The tokens with their variables replaced; None switches the substitution off. A replaced
    token keeps its place in the user's text."""
    if variables is None:
        return tokens
    found: Mapping[str, str] | None = None
    result = tokens
    size = 0
    for i, token in enumerate(tokens):
        if "$" not in token:
            continue
        if found is None:
            found = {name.upper(): value for name, value in variables.items()}
            result = list(tokens)
        result[i] = _replaced(token, found)
        size += len(result[i].value)
        if size > MAX_SUBSTITUTED:
            raise ParseError(
                f"the variables make the statement longer than {MAX_SUBSTITUTED} characters",
                span=_span(token),
            )
    return result


def _in_text(text: str, variables: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        return str(escaped) if escaped else variables.get(name.upper(), match.group())

    return _IN_TEXT.sub(value, text)


def _replaced(token: Token, variables: Mapping[str, str]) -> Token:
    if token.type == "TEXT_LITERAL" or (token.type == "IDENTIFIER" and token[:1] in ("`", '"')):
        return _moved(token, token.type, str(token), _in_text(token.value, variables))
    if token.type != "VARIABLE":
        return token
    name = str(token)[2:-1]
    value = variables.get(name.upper())
    if value is None:
        raise _unknown(token, name, variables)
    parts = lex(value)
    negative = len(parts) == 2 and parts[0].type == "MINUS" and parts[1].type in _NUMBERS
    if negative:
        return _moved(token, parts[1].type, value, "-" + parts[1].value)
    if len(parts) != 1:
        raise _illegal(token, name, value)
    part = parts[0]
    if part.type in _NUMBERS or part.type in ("TEXT_LITERAL", "IDENTIFIER", "TRUE", "FALSE"):
        return _moved(token, part.type, str(part), part.value)
    if not str(part).isidentifier() or part.type in RESERVED:
        raise _illegal(token, name, value)
    # A word such as SOURCE: a name here, whatever it could mean as a keyword.
    return _moved(token, "IDENTIFIER", str(part), part.value)


def _moved(token: Token, type_: str, written: str, value: str) -> Token:
    moved = Token(
        type_, written, token.start_pos, token.line, token.column, None, None, token.end_pos
    )
    moved.value = value
    return moved


def _span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0, token.line or 1, token.column or 1)


def _unknown(token: Token, name: str, variables: Mapping[str, str]) -> ParseError:
    hint = did_you_mean(name, variables) or f"Define it with: DEFINE {name} = '...';"
    return ParseError(f"variable {name} is not defined", span=_span(token), hint=hint)


def _illegal(token: Token, name: str, value: str) -> ParseError:
    return ParseError(
        f"the value of variable {name} is neither a name nor a literal: {value}",
        span=_span(token),
        hint="A string needs quotes of its own: DEFINE x = '''text''';",
    )
