"""Contextual keywords that one token of lookahead cannot resolve, and the parenthesis of a lambda's
parameters."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from streamsql.parser.build.marks import mark
from streamsql.parser.tokens.keywords import BY_CONTEXT, KEYWORDS, NON_RESERVED, RESERVED
from streamsql.parser.tokens.lexer import PATTERN_MARKS

_ENDS_AN_ITEM = frozenset({None, "COMMA", "FROM", "SEMICOLON"})
"""What follows an alias of SELECT: any word is a name between AS and these."""
_NUMBERS = frozenset({"INTEGER_LITERAL", "DECIMAL_LITERAL", "DOUBLE_LITERAL"})
_WINDOWS = frozenset({"TUMBLING", "HOPPING", "CUMULATING", "SESSION"})

_BEGINS_A_VALUE = (
    NON_RESERVED
    | _NUMBERS
    | {"IDENTIFIER", "TEXT_LITERAL", "LPAR", "MINUS", "PLUS", "CASE", "CAST", "NULL", "DECIMAL"}
    | {"TRUE", "FALSE", "EXISTS", "VARIABLE", "AT_SIGN", "SQUARE_ROOT", "CUBE_ROOT"}
)
# Word -> what follows it where it is a keyword. Anywhere else it is a name.
FOLLOWED_BY: dict[str, frozenset[str]] = {
    "AT": frozenset({"TIME"}),
    "COLLATE": NON_RESERVED | {"IDENTIFIER"},
    "CONSTRAINT": NON_RESERVED | {"IDENTIFIER"},
    "EMIT": frozenset({"CHANGES", "FINAL"}),
    "END": frozenset(),
    "ESCAPE": frozenset({"TEXT_LITERAL"}),
    "EXCEPT": frozenset({"ALL", "DISTINCT", "SELECT", "VALUES", "LPAR", "CORRESPONDING"}),
    "EXTRACT": frozenset({"LPAR"}),
    "FILTER": frozenset({"LPAR"}),
    "ILIKE": _BEGINS_A_VALUE | {"ALL_OF", "ANY_OF"},
    "FETCH": frozenset({"IDENTIFIER"}),
    "INTERSECT": frozenset({"ALL", "DISTINCT", "SELECT", "VALUES", "LPAR", "CORRESPONDING"}),
    "LIMIT": _NUMBERS | {"ALL", "MINUS", "TEXT_LITERAL", "PLUS", "LPAR", "NULL"},
    "MATCH_RECOGNIZE": frozenset({"LPAR"}),
    "OFFSET": frozenset({"INTEGER_LITERAL", "LPAR", "NULL"}),
    "ORDER": frozenset({"BY"}),
    "OVER": frozenset({"IDENTIFIER", "LPAR"}),
    "PARTITION": frozenset({"BY"}),
    "PATTERN": frozenset({"LPAR"}),
    "QUALIFY": _BEGINS_A_VALUE | {"NOT"},
    "SIMILAR": frozenset({"TO"}),
    "UNION": frozenset(
        {"ALL", "DISTINCT", "SELECT", "VALUES", "WITH", "LPAR", "CORRESPONDING", "BY_NAME"}
    ),
    "USING": frozenset({"LPAR"}),
    "WINDOW": _WINDOWS | {"IDENTIFIER"},
}
_ENDS_A_CLAUSE = frozenset(
    {"IDENTIFIER", "TEXT_LITERAL", "INTEGER_LITERAL", "DECIMAL_LITERAL", "DOUBLE_LITERAL"}
    | {"RPAR", "RSQB", "STAR", "END", "NULL", "TRUE", "FALSE"}
    | {"BEGINNING", "MILLISECOND", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"}
    | {"MONTHS", "YEARS"}
    | NON_RESERVED - {"STREAM", "TABLE", "TOPIC"}
)
# A word of BY_CONTEXT that is not a name is an operator or begins a clause.
_ENDS_A_VALUE = (_ENDS_A_CLAUSE - BY_CONTEXT - {"STAR"}) | {"END"}
# Words that are names wherever possible; word -> preceding token that allows it.
_NAMES_FIRST: dict[str, frozenset[str]] = {
    "AT": _ENDS_A_VALUE,
    "COLLATE": _ENDS_A_VALUE,
    "CONSTRAINT": frozenset({"LPAR", "COMMA"}),
    "END": _ENDS_A_VALUE,
    "EXCEPT": _ENDS_A_CLAUSE,
    "EXTRACT": frozenset(),
    "FILTER": frozenset({"RPAR"}),
    "ILIKE": _ENDS_A_VALUE | {"NOT"},
    "INTERSECT": _ENDS_A_CLAUSE,
    "MATCH_RECOGNIZE": _ENDS_A_CLAUSE,
    "OFFSET": _ENDS_A_CLAUSE,
    "ORDER": frozenset({"LPAR"}) | _ENDS_A_CLAUSE,
    "OVER": frozenset({"RPAR"}),
    "PATTERN": frozenset(),
    "QUALIFY": _ENDS_A_CLAUSE,
    "SIMILAR": _ENDS_A_VALUE | {"NOT"},
    "UNION": _ENDS_A_CLAUSE,
    "USING": _ENDS_A_CLAUSE,
}


def resolve_words(tokens: list[Token], *, cut_off: bool = False) -> list[Token]:
    """The tokens with the types of such words; `cut_off` means that the text is incomplete."""
    tokens = mark(tokens)
    for i, token in enumerate(tokens):
        if token.type in FOLLOWED_BY:
            if not _is_keyword(tokens, i, cut_off):
                token.type = "IDENTIFIER"
            elif token.type == "PATTERN":
                _mark_pattern(tokens, i + 1)
        elif i == 1 and tokens[0].type in ("DEFINE", "UNDEFINE") and token.type in KEYWORDS:
            # Any word may name a variable: it is never written but as ${word}.
            token.type = "IDENTIFIER"
        elif token.type in RESERVED and _type(tokens, i - 1) == "AS":
            if _type(tokens, i + 1) in _ENDS_AN_ITEM and _in_select(tokens, i):
                token.type = "IDENTIFIER"
        elif token.type == "LAMBDA_ARROW":
            _mark_lambda(tokens, i)
        elif token.type == "IDENTIFIER" and str(token).upper() == "VERBOSE":
            if i and tokens[i - 1].type == "EXPLAIN" and i + 1 < len(tokens):
                token.type = "VERBOSE"
    return tokens


def _in_select(tokens: list[Token], i: int) -> bool:
    """Whether the token stands in the list of a SELECT, and not in DEFINE or among columns."""
    depth = 0
    for token in reversed(tokens[:i]):
        depth += {"RPAR": 1, "LPAR": -1}.get(token.type, 0)
        if depth < 0 or (depth == 0 and token.type in ("SELECT", "DEFINE", "FROM")):
            return bool(token.type == "SELECT")
    return False


def _is_keyword(tokens: list[Token], i: int, cut_off: bool) -> bool:
    word = tokens[i].type
    after, before = _type(tokens, i + 1), _type(tokens, i - 1)
    if word == "END":
        return before in _ENDS_A_VALUE and _inside_case(tokens, i)
    if after in FOLLOWED_BY[word] and _FITS.get(word, _always)(tokens, i):
        return True
    if word in _NAMES_FIRST:
        return cut_off and after is None and before in _NAMES_FIRST[word]
    # Unfinished or misspelt (`EMIT CHNAGES`): a keyword, so that the error says what must follow.
    return after in (None, "IDENTIFIER", "SEMICOLON") and before in _ENDS_A_CLAUSE


def _type(tokens: list[Token], i: int) -> str | None:
    return tokens[i].type if 0 <= i < len(tokens) else None


def _always(tokens: list[Token], i: int) -> bool:
    return True


def _behind(ends: frozenset[str]) -> Callable[[list[Token], int], bool]:
    return lambda tokens, i: _type(tokens, i - 1) in ends


def _before_a_value(ends: frozenset[str]) -> Callable[[list[Token], int], bool]:
    """The next word may be one of these itself."""

    def fits(tokens: list[Token], i: int) -> bool:
        another = _type(tokens, i + 1) in _NOT_A_VALUE and _is_keyword(tokens, i + 1, False)
        return _type(tokens, i - 1) in ends and not another

    return fits


def _filters(tokens: list[Token], i: int) -> bool:
    """`filter(a, ..)` is a function but behind a call."""
    return _type(tokens, i - 1) == "RPAR" and _type(tokens, i + 2) in ("WHERE", None)


def _behind_a_call(tokens: list[Token], i: int) -> bool:
    """Behind its parenthesis, or behind IGNORE NULLS."""
    treated = _type(tokens, i - 2) in ("NULLS_IGNORED", "NULLS_RESPECTED")
    return treated or _type(tokens, i - 1) == "RPAR"


def _extracts(tokens: list[Token], i: int) -> bool:
    """`extract(a, ..)` is a call of a user function."""
    return _type(tokens, i + 3) == "FROM"


def _windows(tokens: list[Token], i: int) -> bool:
    """A column or an alias may be called `window`; the clause may have a name."""
    if _type(tokens, i - 1) not in _ENDS_A_CLAUSE:
        return False
    named = _type(tokens, i + 1) == "IDENTIFIER"
    at = i + 2 if named else i + 1
    return not named or _type(tokens, at) in _WINDOWS


def _constrains(tokens: list[Token], i: int) -> bool:
    """A column may be called `constraint`; behind its type come other words than names."""
    follows = _type(tokens, i + 2)
    misspelt = follows in (None, "IDENTIFIER") and tokens[0].type == "CREATE"
    return _type(tokens, i - 1) in ("LPAR", "COMMA") and (follows == "EXPECT" or misspelt)


def _combines(tokens: list[Token], i: int) -> bool:
    """`union(a)` is a call but behind a query."""
    return _type(tokens, i + 1) != "LPAR" or _type(tokens, i - 1) in _ENDS_A_CLAUSE


_NOT_A_VALUE = BY_CONTEXT - {"EXTRACT"}
# Word -> what else must hold.
_FITS: dict[str, Callable[[list[Token], int], bool]] = {
    "AT": lambda tokens, i: _type(tokens, i + 2) in ("ZONE", None),
    "COLLATE": _behind(_ENDS_A_VALUE),
    "CONSTRAINT": _constrains,
    "EXCEPT": _combines,
    "EXTRACT": _extracts,
    "FILTER": _filters,
    "ILIKE": _before_a_value(_ENDS_A_VALUE | {"NOT"}),
    "FETCH": lambda tokens, i: str(tokens[i + 1]).upper() in ("FIRST", "NEXT"),
    "INTERSECT": _combines,
    "LIMIT": _behind(_ENDS_A_CLAUSE),
    "MATCH_RECOGNIZE": _behind(_ENDS_A_CLAUSE),
    "OFFSET": _behind(_ENDS_A_CLAUSE | {"ALL", "DECIMAL"}),
    "OVER": _behind_a_call,
    "PATTERN": lambda tokens, i: any(t.type == "MATCH_RECOGNIZE" for t in tokens[:i]),
    "QUALIFY": _before_a_value(_ENDS_A_CLAUSE),
    "SIMILAR": _behind(_ENDS_A_VALUE | {"NOT"}),
    "UNION": _combines,
    "USING": _behind(_ENDS_A_CLAUSE),
    "WINDOW": _windows,
}


def _inside_case(tokens: list[Token], i: int) -> bool:
    """Whether an enclosing CASE is open: END then closes it."""
    return sum((t.type == "CASE") - (t.type == "END") for t in tokens[:i]) > 0


def _mark_pattern(tokens: list[Token], opening: int) -> None:
    """From the parenthesis of a PATTERN on: marks that are tokens only there."""
    depth = 0
    for i, token in enumerate(tokens[opening:], opening):
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        if depth == 0:
            return
        if token.type == "ILLEGAL":
            token.type = PATTERN_MARKS.get(str(token), token.type)
        if token.type == "LBRACE" and _type(tokens, i + 1) == "MINUS":
            token.type = "EXCLUDE"


def _mark_lambda(tokens: list[Token], arrow: int) -> None:
    """Of `(x, y) =>`: marks the opening parenthesis."""
    i = arrow - 1
    if i < 0 or tokens[i].type != "RPAR":
        return
    i -= 1
    while i >= 0 and (tokens[i].type in ("IDENTIFIER", "COMMA") or tokens[i].type in NON_RESERVED):
        i -= 1
    if i >= 0 and tokens[i].type == "LPAR":
        tokens[i].type = "LAMBDA_PAREN"
