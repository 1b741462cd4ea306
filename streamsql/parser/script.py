"""Scripts: splits them into statements and parses each.

A statement is a run of tokens up to `;`. What a token means is the lexer's and context's business,
what statements look like the grammar's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedToken

from streamsql.errors import ParseError, Span
from streamsql.nodes import DefineVariable, Explain, Expression, Statement, UndefineVariable
from streamsql.parser.build.alterations import AlterationBuilder
from streamsql.parser.build.changing import ChangeBuilder
from streamsql.parser.build.constraints import ConstraintBuilder
from streamsql.parser.build.context import resolve_words
from streamsql.parser.build.definitions import ViewBuilder
from streamsql.parser.build.expressions import ExpressionBuilder
from streamsql.parser.build.items import Builders
from streamsql.parser.build.match import MatchBuilder
from streamsql.parser.build.over import OverBuilder
from streamsql.parser.build.queries import QueryBuilder
from streamsql.parser.build.repair import RepairBuilder
from streamsql.parser.build.sinks import SinkBuilder
from streamsql.parser.build.statements import CommandBuilder, DefinitionBuilder
from streamsql.parser.build.windows import WindowBuilder
from streamsql.parser.loader import load
from streamsql.parser.messages.syntax_errors import syntax_error
from streamsql.parser.tokens.lexer import Lines, lex
from streamsql.parser.variables import substitute
from streamsql.types import SQLType

BUILDERS = Builders(
    DefinitionBuilder(),
    AlterationBuilder(),
    ConstraintBuilder(),
    ViewBuilder(),
    ChangeBuilder(),
    CommandBuilder(),
    RepairBuilder(),
    SinkBuilder(),
    QueryBuilder(),
    WindowBuilder(),
    OverBuilder(),
    MatchBuilder(),
    ExpressionBuilder(),
)


def parse(sql: str, variables: Mapping[str, str] | None = None) -> list[Statement]:
    """All statements of a script; the first that is wrong raises its ParseError. DEFINE and
    UNDEFINE take effect on the statements after them; `variables` None switches `${..}` off."""
    statements = []
    for statement in parse_in_turn(sql, variables):
        if isinstance(statement, ParseError):
            raise statement
        statements.append(statement)
    return statements


def parse_in_turn(
    sql: str, variables: Mapping[str, str] | None = None
) -> Iterator[Statement | ParseError]:
    """The statements of a script, with an error for an invalid one; DEFINE and UNDEFINE take effect
    on later statements without changing `variables`."""
    known = None if variables is None else {k.upper(): v for k, v in variables.items()}
    for statement in parse_each(sql, known):
        if known is not None and isinstance(statement, DefineVariable):
            known[statement.name.upper()] = statement.value
        elif known is not None and isinstance(statement, UndefineVariable):
            known.pop(statement.name.upper(), None)
        yield statement


def parse_each(
    sql: str, variables: Mapping[str, str] | None = None
) -> Iterator[Statement | ParseError]:
    """Parses a script statement by statement; an invalid one yields its error. `variables` is read
    for each statement, so that a DEFINE executed in between takes effect."""
    lines = Lines(sql)
    for tokens in _statements(sql, lines):
        try:
            yield _parse_statement(tokens, sql, lines, variables)
        except ParseError as error:
            yield _located(error, sql)


def parse_one(sql: str, variables: Mapping[str, str] | None = None) -> Statement:
    """The only statement of `sql`; its `;` may be missing."""
    statements = parse(sql, variables)
    if not statements:
        raise _located(ParseError("the text contains no statement"), sql)
    if len(statements) > 1:
        raise _located(ParseError("expected one statement", span=statements[1].span), sql)
    return statements[0]


def parse_expression(text: str) -> Expression:
    expression: Expression = _parse_whole(text, "expression")
    return expression


def parse_type(text: str) -> SQLType:
    """A type on its own, for example `ARRAY<STRUCT<A INT>>`."""
    kind: SQLType = _parse_whole(text, "type")
    return kind


def split(sql: str) -> list[tuple[str, Span]]:
    """The statements' texts without `;` and outer comments, each with its place."""
    lines = Lines(sql)
    spans = [lines.span(*_extent(tokens)) for tokens in _statements(sql, lines)]
    return [(sql[span.start : span.end], span) for span in spans]


def is_complete(text: str) -> bool:
    """Whether the last thing in `text` is a `;` that ends a statement."""
    tokens = lex(text)
    return bool(tokens) and tokens[-1].type == "SEMICOLON"


def _statements(sql: str, lines: Lines) -> Iterator[list[Token]]:
    """The tokens of each statement, without `;`."""
    statement: list[Token] = []
    for token in lex(sql, lines=lines):
        if token.type != "SEMICOLON":
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _extent(tokens: list[Token]) -> tuple[int, int]:
    return tokens[0].start_pos or 0, tokens[-1].end_pos or 0


def _parse_statement(
    tokens: list[Token], sql: str, lines: Lines, variables: Mapping[str, str] | None
) -> Statement:
    statement: Statement = run(tokens, "statement", lines, variables)
    return _with_text(statement, sql)


def _with_text(statement: Statement, sql: str) -> Statement:
    span = statement.span
    assert span is not None
    text = sql[span.start : span.end]
    if isinstance(statement, Explain) and statement.statement is not None:
        return replace(statement, text=text, statement=_with_text(statement.statement, sql))
    return replace(statement, text=text)


def _parse_whole(text: str, start: str) -> Any:
    lines = Lines(text)
    try:
        return run(lex(text, lines=lines), start, lines, None)
    except ParseError as error:
        raise _located(error, text) from None


def _located(error: ParseError, sql: str) -> ParseError:
    error.located(sql)
    return error


def run(
    tokens: list[Token],
    start: str,
    lines: Lines,
    variables: Mapping[str, str] | None,
) -> Any:
    """Parses one statement's tokens from the rule `start`; returns the built value."""
    tokens = resolve_words(substitute(tokens, variables))
    lark = load(BUILDERS)
    parser: Any = lark.parse_interactive("", start=start)
    try:
        for token in tokens:
            parser.feed_token(token)
        item = parser.feed_eof()
    except UnexpectedToken:
        end = tokens[-1].end_pos or 0 if tokens else 0
        raise syntax_error(lark, start, tokens, lines, end) from None
    return item.value
