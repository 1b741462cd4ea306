"""Hints for common mistakes: one function per kind, tried in the order of HINTS."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator

from streamsql.parser.messages.lookahead import END
from streamsql.parser.messages.trouble import Trouble
from streamsql.parser.tokens.keywords import KEYWORDS, RESERVED
from streamsql.parser.tokens.lexer import SYMBOL_TEXT

_STATEMENT_WORDS = frozenset(
    """
    ALTER ASSERT CREATE DEFINE DESCRIBE DROP EXPLAIN INSERT LIST PAUSE PRINT RESUME RUN SELECT SET
    SHOW TERMINATE UNDEFINE UNSET
    """.split()
)
_CLAUSES = frozenset("FROM WINDOW WHERE GROUP PARTITION HAVING QUALIFY EMIT LIMIT".split())
_AFTER_BRACKETS = _CLAUSES | {"AS", "WITH", "ON", "THEN", "END", "SELECT", "VALUES"}
_WRITTEN_TOGETHER = {
    "EMITCHANGES": ("EMIT", "CHANGES"),
    "EMITFINAL": ("EMIT", "FINAL"),
    "GRACEPERIOD": ("GRACE", "PERIOD"),
    "GROUPBY": ("GROUP", "BY"),
    "ISNULL": ("IS", "NULL"),
    "PARTITIONBY": ("PARTITION", "BY"),
    "PRIMARYKEY": ("PRIMARY", "KEY"),
}
_OPERATORS = {
    ("EQUAL", "EQUAL"): "Equality is a single =.",
    ("EQUAL", "LESSTHAN"): "Less or equal is written <=.",
    ("EQUAL", "LESS_EQUAL"): "Equality that takes NULLs as equal is IS NOT DISTINCT FROM.",
    ("LESS_EQUAL", "MORETHAN"): "Equality that takes NULLs as equal is IS NOT DISTINCT FROM.",
    ("NOT_EQUAL", "EQUAL"): "Inequality is written <>.",
    ("BANG_EQUAL", "EQUAL"): "Inequality is written <>.",
    ("STAR", "STAR"): "Powers are written POWER(base, exponent).",
    ("PLUS", "EQUAL"): "Nothing is assigned in SQL.",
}
_BETWEEN_QUERIES = (
    "UNION, EXCEPT and INTERSECT stand before ORDER BY, EMIT and LIMIT, which hold for all."
)
_ELSEWHERE = {
    "ORDER": "ORDER BY is the last clause of a pull query, before LIMIT.",
    "UNION": _BETWEEN_QUERIES,
    "INTERSECT": _BETWEEN_QUERIES,
    "EXCEPT": _BETWEEN_QUERIES,
    "OFFSET": "OFFSET follows LIMIT at the end of a pull query: LIMIT 10 OFFSET 20.",
    "CHECK": "Conditions on records are written CONSTRAINT name EXPECT (..) ON VIOLATION DROP ROW.",
    "TOP": "The number of rows is limited by LIMIT at the end of the query.",
    "USING": "Columns that both sides have go between brackets: USING (id).",
    "CROSS": "CROSS JOIN is not supported: a join requires ON a.id = b.id.",
    "NATURAL": "A join names its condition: ON a.id = b.id.",
    "SEMI": "SEMI JOIN is not supported.",
    "SYSTEM_TIME": "In a materialized view, FOR SYSTEM_TIME AS OF PROCTIME() reads the table's "
    "rows of the moment. CREATE STREAM .. AS joins a stream with them without it.",
}


def misspelt_keyword(trouble: Trouble) -> tuple[str, int] | None:
    """A suggestion, and the index of the word that it would replace: the one that does not fit, or
    the one before it, which was taken for a name (`SELECT a FORM b`)."""
    for index in (trouble.index, trouble.index - 1):
        word = trouble.word_at(index)
        if word is None or word in (expected := trouble.before(index).words):
            continue
        for suggestion in _suggestions(word, expected):
            # A type is a name to the grammar.
            terminals = [w if w in KEYWORDS else "IDENTIFIER" for w in suggestion]
            if trouble.progress_with(index, *terminals) > max(trouble.index, index + 1):
                return " ".join(suggestion), index
    return None


def _suggestions(word: str, expected: frozenset[str]) -> Iterator[tuple[str, ...]]:
    together = _WRITTEN_TOGETHER.get(word)
    if together and together[0] in expected:
        yield together
    for close in difflib.get_close_matches(word, sorted(expected), n=3, cutoff=0.6):
        yield (close,)


def _operator(trouble: Trouble) -> str | None:
    if "ASSIGN" in trouble.position.accepted:
        return "Entries of a MAP or STRUCT are written name := value."
    if trouble.found == "DOT" and "ARROW" in trouble.position.accepted:
        return "A field of a STRUCT is taken with ->: column->field."
    if trouble.found == "LAMBDA_ARROW":
        return "Greater or equal is written >=; => belongs to lambda functions."
    return _OPERATORS.get((trouble.type_at(-1), trouble.found))


def _known_elsewhere(trouble: Trouble) -> str | None:
    for index in (trouble.index, trouble.index - 1):
        if hint := _ELSEWHERE.get(trouble.word_at(index) or ""):
            return hint
    if "SELECT" in (trouble.found, trouble.type_at(1)) and "LPAR" in (
        trouble.found,
        trouble.type_at(-1),
    ):
        return "Subqueries are allowed in FROM, IN (SELECT ..) and EXISTS (SELECT ..)."
    return None


def _misplaced(trouble: Trouble) -> str | None:
    keywords = trouble.position.keywords
    if trouble.found == "OUTER" and "LEFT" in keywords:
        return "Say which side's rows are kept: LEFT, RIGHT or FULL OUTER JOIN."
    if trouble.found == "WITH" and trouble.tokens[0].type == "CREATE" and "EMIT" in keywords:
        return "The properties WITH (..) stand before AS."
    return None


def _missing_semicolon(trouble: Trouble) -> str | None:
    for index in (trouble.index, trouble.index - 1):
        if index < 1 or trouble.word_at(index) not in _STATEMENT_WORDS:
            continue
        previous, token = trouble.tokens[index - 1], trouble.tokens[index]
        new_line = (token.line or 0) > (previous.line or 0)
        if END in trouble.before(index).accepted and (new_line or index == trouble.index):
            return f"End the statement before {str(token).upper()} with a semicolon."
    return None


def _clause_order(trouble: Trouble) -> str | None:
    in_query = any(t.type == "SELECT" for t in trouble.tokens[: trouble.index])
    after_from = any(t.type == "FROM" for t in trouble.tokens[: trouble.index])
    if in_query and after_from and trouble.found in _CLAUSES and not trouble.open_brackets:
        return (
            "The clauses of a query come in this order: "
            "SELECT, FROM, WINDOW, WHERE, GROUP BY, PARTITION BY, HAVING, QUALIFY, ORDER BY, EMIT, "
            "LIMIT."
        )
    return None


def reserved_word(trouble: Trouble) -> str | None:
    position = trouble.position
    if trouble.found not in RESERVED or "IDENTIFIER" not in position.accepted:
        return None
    if position.wants_type:
        return None
    reach = trouble.progress_with(trouble.index, "IDENTIFIER")
    if reach < min(trouble.index + 3, len(trouble.tokens) + 1):
        return None
    written = str(trouble.tokens[trouble.index])
    return (
        f"{written.upper()} is a reserved word: put it in backticks to use it as a name, "
        f"`{written.upper()}`."
    )


def _wrong_quotes(trouble: Trouble) -> str | None:
    if trouble.index >= len(trouble.tokens):
        return None
    token, accepted = trouble.tokens[trouble.index], trouble.position.accepted
    # After a name a string could follow too, as in DECIMAL '1.2'.
    wants_string = "TEXT_LITERAL" in accepted and "SLASH" not in accepted
    if wants_string and not trouble.position.wants_expression:
        if token.type == "IDENTIFIER" or token.type in KEYWORDS or token.type.endswith("_LITERAL"):
            text = _written_at(trouble, trouble.index).strip('"`')
            return f"Strings are written in single quotes: '{text}'."
    if token.type == "TEXT_LITERAL" and "IDENTIFIER" in accepted:
        return f"Names are written without quotes or in backticks: `{token.value}`."
    return None


def _written_at(trouble: Trouble, index: int) -> str:
    """The text from a token to the next blank: `auto.offset.reset`."""
    first, *others = trouble.tokens[index:]
    text, end = str(first), first.end_pos
    for token in others:
        if token.start_pos != end or token.type in ("EQUAL", "COMMA", "RPAR", "LPAR"):
            break
        text, end = text + str(token), token.end_pos
    return text


def _variable(trouble: Trouble) -> str | None:
    if trouble.index < len(trouble.tokens):
        token = trouble.tokens[trouble.index]
        if (token.end_pos or 0) - (token.start_pos or 0) != len(token):
            return "A variable can replace a name or a literal, but not a keyword."
    return None


def _spanning_string(trouble: Trouble) -> str | None:
    for token in trouble.tokens[: trouble.index + 1]:
        if token.type == "TEXT_LITERAL" and "\n" in token and ";" in token:
            return f"The string that begins in line {token.line} may lack its closing quote."
    return None


def _time_unit(trouble: Trouble) -> str | None:
    if "MILLISECONDS" in trouble.position.accepted and "DAYS" in trouble.position.accepted:
        if not trouble.position.wants_expression:
            amount = trouble.tokens[trouble.index - 1]
            return f"Write the unit of time after the number: {amount} SECONDS."
    return None


def _hyphen(trouble: Trouble) -> str | None:
    if trouble.found != "MINUS" or not trouble.word_at(trouble.index - 1):
        return None
    name = _written_at(trouble, trouble.index - 1)
    return f"A name with a hyphen goes between backticks: `{name}`."


def _comma(trouble: Trouble) -> str | None:
    if trouble.type_at(-1) == "COMMA" and trouble.found in (
        *("RPAR", "RSQB", "FROM", "WHERE", "HAVING", "EMIT", "COMMA", END),
    ):
        return "There is a comma too many."
    return None


def _brackets(trouble: Trouble) -> str | None:
    opened = trouble.open_brackets
    cut_off = trouble.found == END or trouble.found in _AFTER_BRACKETS
    if trouble.found in ("RPAR", "RSQB") and not opened:
        return f"Nothing is opened that this {SYMBOL_TEXT[trouble.found]} closes."
    if opened and cut_off:
        bracket = opened[-1]
        return f"The {bracket} in line {bracket.line}, column {bracket.column} is not closed."
    return None


HINTS: tuple[Callable[[Trouble], str | None], ...] = (
    _variable,
    _operator,
    _known_elsewhere,
    _misplaced,
    _missing_semicolon,
    _clause_order,
    _comma,
    reserved_word,
    _time_unit,
    _wrong_quotes,
    _hyphen,
    _spanning_string,
    _brackets,
)


def hint_for(trouble: Trouble) -> str | None:
    """The first hint that applies."""
    return next((hint for find in HINTS if (hint := find(trouble))), None)
