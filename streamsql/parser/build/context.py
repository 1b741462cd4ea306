"""What one token of lookahead can't decide: words whose meaning depends on their neighbours, and
the parenthesis that opens a lambda's parameters."""

from __future__ import annotations

from lark import Token

from streamsql.parser.tokens.keywords import KEYWORDS, NON_RESERVED

# Word -> what follows it where it is a keyword. Anywhere else it is a name.
FOLLOWED_BY: dict[str, frozenset[str]] = {
    "EMIT": frozenset({"CHANGES", "FINAL"}),
    "PARTITION": frozenset({"BY"}),
    "ESCAPE": frozenset({"TEXT_LITERAL"}),
    "ORDER": frozenset({"BY"}),
    "OVER": frozenset({"LPAR"}),
    "UNION": frozenset({"ALL", "DISTINCT", "SELECT", "WITH"}),
}
_ENDS_A_CLAUSE = frozenset(
    {"IDENTIFIER", "TEXT_LITERAL", "INTEGER_LITERAL", "DECIMAL_LITERAL", "DOUBLE_LITERAL"}
    | {"RPAR", "RSQB", "STAR", "END", "NULL", "TRUE", "FALSE"}
    | NON_RESERVED
)
# Words that are names wherever they can be; word -> what stands before them where more may come.
_NAMES_FIRST: dict[str, frozenset[str]] = {
    "ORDER": frozenset({"LPAR"}) | _ENDS_A_CLAUSE,
    "OVER": frozenset({"RPAR"}),
    "UNION": _ENDS_A_CLAUSE,
}


def resolve_words(tokens: list[Token], *, cut_off: bool = False) -> list[Token]:
    """Changes the types of such tokens in place; `cut_off` tells that more is still to come."""
    for i, token in enumerate(tokens):
        if token.type in FOLLOWED_BY:
            if not _is_keyword(tokens, i, cut_off):
                token.type = "IDENTIFIER"
        elif i == 1 and tokens[0].type in ("DEFINE", "UNDEFINE") and token.type in KEYWORDS:
            # Any word may name a variable: it is never written but as ${word}.
            token.type = "IDENTIFIER"
        elif token.type == "LAMBDA_ARROW":
            _mark_lambda(tokens, i)
        elif token.type == "IDENTIFIER" and str(token).upper() == "VERBOSE":
            if i and tokens[i - 1].type == "EXPLAIN" and i + 1 < len(tokens):
                token.type = "VERBOSE"
    return tokens


def _is_keyword(tokens: list[Token], i: int, cut_off: bool) -> bool:
    word = tokens[i].type
    after = tokens[i + 1].type if i + 1 < len(tokens) else None
    before = tokens[i - 1].type if i else None
    if after in FOLLOWED_BY[word]:
        # `over(a)` is a function but behind a call.
        return word != "OVER" or before == "RPAR"
    if word in _NAMES_FIRST:
        return cut_off and after is None and before in _NAMES_FIRST[word]
    # Unfinished or misspelt (`EMIT CHNAGES`): a keyword, so that the error says what must follow.
    return after in (None, "IDENTIFIER", "SEMICOLON") and before in _ENDS_A_CLAUSE


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
