"""Converts an unexpected token to a user error: the token, the alternatives, and a hint."""

from __future__ import annotations

from lark import Lark, Token

from streamsql.errors import ParseError, Span
from streamsql.ksqldb import Sentence, says
from streamsql.parser.messages.hints import hint_for, misspelt_keyword, reserved_word
from streamsql.parser.messages.lookahead import END, Position, read
from streamsql.parser.messages.trouble import Trouble
from streamsql.parser.tokens.keywords import KEYWORDS
from streamsql.parser.tokens.lexer import SYMBOL_TEXT, Lines

MAX_ALTERNATIVES = 6

_LEXICAL = {
    "UNCLOSED_TEXT": (
        "the string is not closed",
        "A string ends with a single quote; a quote inside is doubled: 'it''s'.",
    ),
    "UNCLOSED_NAME": ("the quoted name is not closed", "A name ends with the quote it began with."),
    "UNCLOSED_COMMENT": (
        "the comment is not closed",
        "A comment that begins with /* ends with */.",
    ),
    "VARIABLE": ("variables are not replaced here", None),
    "ESCAPED_VARIABLE": ("an escaped variable can only stand inside a string", None),
}
_CHARACTER_HINTS = {
    **dict.fromkeys("\u2018\u2019\u201a", "Strings are written between plain single quotes, '."),
    **dict.fromkeys("\u201c\u201d\u201e", "Strings are written between plain single quotes, '."),
    "!": "Inequality is written <>, negation NOT.",
    "#": "Comments begin with -- or stand between /* and */.",
    "&": "Both conditions are joined by AND.",
    "|": "Strings are joined by ||, conditions by OR.",
    ":": "Entries are written name := value, a cast value::type.",
    "$": "A variable is written ${name}.",
    "{": "A MAP is written MAP(key := value), a STRUCT STRUCT(name := value).",
    "\\": "Strings have no escapes but the doubled quote.",
}
_OPERATORS = frozenset(
    """
    EQUAL NOT_EQUAL BANG_EQUAL LESSTHAN LESS_EQUAL MORETHAN GREATER_EQUAL PLUS MINUS STAR SLASH
    PERCENT CONCAT AND OR IS IN LIKE BETWEEN NOT AT COLLATE ARROW LSQB DOT LPAR DOUBLE_COLON TILDE
    TILDE_STAR BANG_TILDE BANG_TILDE_STAR ILIKE SIMILAR FILTER DOUBLE_TILDE DOUBLE_TILDE_STAR
    BANG_DOUBLE_TILDE BANG_DOUBLE_TILDE_STAR SHIFT_LEFT AMPERSAND HASH BAR CARET COLON
    CONTAINS CONTAINED OVERLAPS QUESTION ANY_KEY ALL_KEYS HASH_MINUS CARET_AT AT_QUESTION AT_AT
    DOUBLE_ARROW HASH_ARROW HASH_DOUBLE_ARROW
    """.split()
)
_ARITHMETIC = frozenset({"PLUS", "SLASH", "PERCENT"})
_EXPRESSION_STARTS = frozenset(
    """
    AT_SIGN SQUARE_ROOT CUBE_ROOT AGGREGATE_OF
    IDENTIFIER TEXT_LITERAL INTEGER_LITERAL DECIMAL_LITERAL DOUBLE_LITERAL CASE CAST NOT NULL TRUE
    EXISTS EXTRACT FALSE INTERVAL DECIMAL MINUS PLUS LPAR ARRAY MAP STRUCT LAMBDA_PAREN MILLISECOND
    MILLISECONDS SECONDS MINUTES HOURS DAYS MONTHS YEARS LEFT RIGHT TILDE LSQB TRY_CAST
    """.split()
)
_TIME_UNITS = frozenset({"DAYS", "HOURS", "MINUTES", "SECONDS", "MILLISECONDS"})
_SINGULAR_UNITS = frozenset({"DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"})
_TYPE_STARTS = frozenset({"IDENTIFIER", "ARRAY", "MAP", "STRUCT", "DECIMAL"})
_VALUES = {
    "TEXT_LITERAL": "STRING",
    "INTEGER_LITERAL": "INTEGER_VALUE",
    "DECIMAL_LITERAL": "DECIMAL_VALUE",
    "DOUBLE_LITERAL": "FLOATING_POINT_VALUE",
}
"""Literal kinds in ksqlDB's grammar."""
_KSQLDB_ALTERNATIVES = 3
_AFTER_ITEMS = frozenset({"FROM", "WHERE", "COMMA"})
_CLAUSES = frozenset(
    """
    WINDOW WHERE GROUP PARTITION HAVING QUALIFY ORDER EMIT LIMIT OFFSET FETCH UNION EXCEPT
    INTERSECT AS_OF EMIT_ON_CLOSE $END
    """.split()
)
# The words to name first where there are too many.
_COMMON = (
    *("SELECT", "CREATE", "INSERT", "SHOW", "DESCRIBE"),
    *("FROM", "JOIN", "WHERE", "GROUP", "WINDOW", "HAVING", "PARTITION", "EMIT", "AS"),
)
_PHRASES = {"GROUP": "GROUP BY", "PARTITION": "PARTITION BY"}
_PLAIN = {
    "IDENTIFIER": "a name",
    "TEXT_LITERAL": "a string",
    "INTEGER_LITERAL": "an integer",
    "DECIMAL_LITERAL": "a number",
    "DOUBLE_LITERAL": "a number",
    END: "the end of the statement",
}


def syntax_error(lark: Lark, start: str, tokens: list[Token], lines: Lines, end: int) -> ParseError:
    """The error of a statement that the automaton does not accept; `end` is its end in the text."""
    position, index = read(lark, start, tokens)
    if index < len(tokens) and (error := _lexical_error(tokens[index], lines)):
        return error
    trouble = Trouble(lark, start, tokens, index, position)
    if index and tokens[index - 1].type == "LIMIT":
        token = tokens[min(index, len(tokens) - 1)]
        return ParseError("Value must be integer for command: LIMIT", span=_span(token, lines))
    misspelt = misspelt_keyword(trouble)
    if misspelt is not None:
        suggestion, wrong = misspelt
        hint: str | None = f"Did you mean {suggestion}?"
        position = trouble.before(wrong)
    else:
        wrong, hint = index, hint_for(trouble)
        if hint is None and index < len(tokens):
            hint = _CHARACTER_HINTS.get(str(tokens[index]))
    detail = _expectation(position, brief=hint is not None)
    known = _ksqldb(trouble, position, wrong, misspelt and misspelt[0])
    if wrong < len(tokens):
        message, span = f"unexpected {_describe(tokens[wrong])}", _span(tokens[wrong], lines)
        if wrong == 0 and start == "statement":
            message = f"unknown statement {_describe(tokens[0])}"
    else:
        message, span = "the statement is not complete", lines.span(end, end)
    return ParseError(message, detail=detail, hint=hint, span=span, ksqldb=known)


def _span(token: Token, lines: Lines) -> Span:
    return lines.span(token.start_pos or 0, token.end_pos or 0)


def _lexical_error(token: Token, lines: Lines) -> ParseError | None:
    if token.type == "ILLEGAL":
        hint = _CHARACTER_HINTS.get(str(token))
        if hint is None and str(token).isalpha():
            hint = "Names with other letters than A to Z go between backticks."
        return ParseError(f"unexpected character {token}", hint=hint, span=_span(token, lines))
    if token.type not in _LEXICAL:
        return None
    message, hint = _LEXICAL[token.type]
    width = len(token) if token.type.endswith("VARIABLE") else 1
    start = token.start_pos or 0
    return ParseError(message, hint=hint, span=lines.span(start, start + width))


def _describe(token: Token) -> str:
    text = str(token)
    shown = text if len(text) <= 40 and "\n" not in text else text.split("\n")[0][:40] + ".."
    if token.type in KEYWORDS:
        return shown.upper()
    if token.type == "TEXT_LITERAL":
        return f"string {shown}"
    if token.type.endswith("_LITERAL"):
        return f"number {shown}"
    return shown


_RARE = frozenset({"MATCH_RECOGNIZE"})
"""Words that may stand behind much, and seldom do."""


def _expectation(position: Position, brief: bool) -> str | None:
    """`Expected FROM, AS, `,` or an operator.`; None rather than a long list if `brief`."""
    alternatives = _alternatives(position)
    if not alternatives or (brief and len(alternatives) > MAX_ALTERNATIVES):
        return None
    if len(alternatives) > MAX_ALTERNATIVES:
        alternatives = [*alternatives[: MAX_ALTERNATIVES - 1], "something else"]
    if len(alternatives) == 1:
        return f"Expected {alternatives[0]}."
    return f"Expected {', '.join(alternatives[:-1])} or {alternatives[-1]}."


def _alternatives(position: Position) -> list[str]:
    """Possible next tokens: common words, symbols, other words, then kinds."""
    rest = set(position.accepted - KEYWORDS | position.keywords)
    kinds: list[str] = []
    if rest >= _AFTER_ITEMS:
        # Nearly all queries have a FROM: the clauses that may follow without one are not helpful.
        rest -= _CLAUSES
    if position.wants_expression:
        rest -= _EXPRESSION_STARTS
        kinds.append("an expression")
    elif position.wants_type:
        rest -= _TYPE_STARTS
        kinds.append("a type")
    if {"TEXT_LITERAL", "DECIMAL_LITERAL"} <= rest:
        rest -= {"INTEGER_LITERAL", "MINUS"}
    if rest >= _ARITHMETIC:
        rest -= _OPERATORS | {"TEXT_LITERAL"}
        kinds.append("an operator")
    if rest >= _TIME_UNITS:
        rest -= _TIME_UNITS | _SINGULAR_UNITS
        kinds.append("a unit of time (SECONDS, MINUTES, HOURS, DAYS)")
    kinds += dict.fromkeys(_PLAIN[t] for t in _PLAIN if t in rest)
    usual = [_PHRASES.get(word, word) for word in _COMMON if word in rest]
    others = sorted((rest & KEYWORDS).difference(_COMMON), key=lambda word: (word in _RARE, word))
    symbols = sorted(f"`{SYMBOL_TEXT[t]}`" for t in rest if t in SYMBOL_TEXT)
    return usual + symbols + others + kinds


def _ksqldb(trouble: Trouble, position: Position, wrong: int, meant: str | None) -> Sentence:
    """ksqlDB's message for the unexpected token. Its automaton differs, so a list of several
    alternatives may differ, too."""
    if wrong >= len(trouble.tokens):
        return says("statement-incomplete")
    token = str(trouble.tokens[wrong])
    if wrong == 0 and trouble.start == "statement":
        if meant is None:
            return says("unknown-statement", token=token)
        return says("misspelt-statement", token=token, meant=meant)
    if wrong == trouble.index and reserved_word(trouble):
        return says("reserved-word", token=token)
    expected = _terminals(position)
    if expected is None:
        return says("unexpected-token", token=token)
    several = ", ".join(expected)
    return says("expected-token", expected=f"{{{several}}}" if len(expected) > 1 else several)


def _terminals(position: Position) -> list[str] | None:
    """Possible next tokens in ksqlDB's grammar; None if there are more than it lists."""
    rest = position.accepted - KEYWORDS | position.keywords
    if rest >= _AFTER_ITEMS:
        rest -= _CLAUSES
    if not 0 < len(rest) <= _KSQLDB_ALTERNATIVES or rest & {"IDENTIFIER", END}:
        return None
    symbols = sorted(f"'{SYMBOL_TEXT[t]}'" for t in rest if t in SYMBOL_TEXT)
    words = sorted(f"'{t}'" for t in rest if t in KEYWORDS)
    return symbols + words + [name for t, name in _VALUES.items() if t in rest]
