"""Words and marks of standard SQL that are keywords in one place only: gives them the types of the
terminals that the grammar declares for them, so that they stay names everywhere else."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from streamsql.parser.tokens.keywords import KEYWORDS, NON_RESERVED

_COMPARISONS = frozenset(
    """
    EQUAL NOT_EQUAL BANG_EQUAL LESSTHAN LESS_EQUAL MORETHAN GREATER_EQUAL LIKE ILIKE TILDE
    TILDE_STAR BANG_TILDE BANG_TILDE_STAR DOUBLE_TILDE BANG_DOUBLE_TILDE DOUBLE_TILDE_STAR
    BANG_DOUBLE_TILDE_STAR
    """.split()
)
_NAMES = NON_RESERVED | {"IDENTIFIER"}
_ENDS_A_RELATION = _NAMES | {"RPAR"}
_JOINS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL"})
_LITERALS = frozenset(
    {
        "TEXT_LITERAL",
        "INTEGER_LITERAL",
        "DECIMAL_LITERAL",
        "DOUBLE_LITERAL",
        "NULL",
        "TRUE",
        "FALSE",
    }
    | {"END", "RSQB"}
)
_NOT_BEFORE_A_TYPE = frozenset({"SELECT", "COMMA"})


def mark(tokens: list[Token]) -> list[Token]:
    """The tokens with such types, and the names of types in one word."""
    for i, token in enumerate(tokens):
        if token.type == "LSQB":
            if _type(tokens, i + 1) == "RSQB" and _type(tokens, i - 1) != "ARRAY":
                token.type = "EMPTY_BRACKET"
        elif (meaning := _MEANINGS.get(token.upper())) is not None:
            token.type = meaning(tokens, i) or token.type
    return [
        token.update(value="TIMESTAMPTZ") if _has_zone(tokens, i) else token
        for i, token in enumerate(tokens)
        if not _lengthens_a_type(tokens, i)
        and not _belongs_to_version(tokens, i)
        and not (token.type == "COLON" and _type(tokens, i - 1) == "AGGREGATE_OF")
    ]


def _type(tokens: list[Token], i: int) -> str | None:
    return tokens[i].type if 0 <= i < len(tokens) else None


def _text(tokens: list[Token], i: int) -> str:
    return str(tokens[i]).upper() if 0 <= i < len(tokens) else ""


def _between(
    terminal: str, before: frozenset[str], after: frozenset[str]
) -> Callable[[list[Token], int], str | None]:
    def meaning(tokens: list[Token], i: int) -> str | None:
        fits = _type(tokens, i - 1) in before and _type(tokens, i + 1) in after
        return terminal if fits else None

    return meaning


def _lateral(tokens: list[Token], i: int) -> str | None:
    named = _type(tokens, i + 1) in _NAMES and _type(tokens, i + 2) == "LPAR"
    begins = _type(tokens, i - 1) in ("FROM", "COMMA", "JOIN")
    query = _type(tokens, i + 1) == "LPAR" and _type(tokens, i + 2) in ("SELECT", "LPAR", "WITH")
    return "LATERAL" if begins and (named or query or _text(tokens, i + 2) == "VALUES") else None


def _ordinality(tokens: list[Token], i: int) -> str | None:
    return "ORDINALITY" if _type(tokens, i - 1) == "WITH" else None


def _recursive(tokens: list[Token], i: int) -> str | None:
    names = _type(tokens, i - 1) == "WITH" and _type(tokens, i + 1) in _NAMES
    return "RECURSIVE" if names else None


def _grouping(tokens: list[Token], i: int) -> str | None:
    sets = _text(tokens, i + 1) == "SETS" and _type(tokens, i + 2) == "LPAR"
    return "GROUPING_SETS" if sets else None


def _symmetric(tokens: list[Token], i: int) -> str | None:
    begins = _type(tokens, i - 1) == "BETWEEN" and _type(tokens, i + 1) != "AND"
    return "SYMMETRIC" if begins else None


def _trim_side(tokens: list[Token], i: int) -> str | None:
    trims = _type(tokens, i - 1) == "LPAR" and _text(tokens, i - 2) == "TRIM"
    return "TRIM_SIDE" if trims else None


def _nothing(tokens: list[Token], i: int) -> str | None:
    if _type(tokens, i - 1) in ("SELECT", "COMMA"):  # a column called so
        return None
    return "SELECT_NOTHING" if _type(tokens, i + 1) in ("FROM", "RPAR") else None


def _nulls_treated(terminal: str) -> Callable[[list[Token], int], str | None]:
    """IGNORE NULLS and RESPECT NULLS end the arguments of a call, or stand between it and OVER."""

    def meaning(tokens: list[Token], i: int) -> str | None:
        ends = _type(tokens, i + 2) in ("RPAR", "OVER")
        return terminal if _text(tokens, i + 1) == "NULLS" and ends else None

    return meaning


_SET_OPERATORS = frozenset({"UNION", "EXCEPT", "INTERSECT"})


def _joins_sets(tokens: list[Token], i: int) -> bool:
    """Whether the token ends a set operator."""
    every = _type(tokens, i) in ("ALL", "DISTINCT")
    return _type(tokens, i - every) in _SET_OPERATORS


def _corresponding(tokens: list[Token], i: int) -> str | None:
    begins = _type(tokens, i + 1) in ("SELECT", "VALUES", "LPAR", "BY")
    return "CORRESPONDING" if begins and _joins_sets(tokens, i - 1) else None


def _by(tokens: list[Token], i: int) -> str | None:
    named = _text(tokens, i + 1) == "NAME" and _joins_sets(tokens, i - 1)
    return "BY_NAME" if named else None


def _excluded(tokens: list[Token], i: int) -> str | None:
    """`* EXCLUDE (a, b)` and `* EXCEPT (a, b)` of a SELECT."""
    starred = _type(tokens, i - 1) == "STAR" and _type(tokens, i + 1) == "LPAR"
    begins = _type(tokens, i - 2) in ("SELECT", "COMMA", "DOT", "ALL", "DISTINCT")
    query = _type(tokens, i + 2) in ("SELECT", "VALUES", "WITH", "LPAR")
    return "EXCLUDED" if starred and begins and not query else None


def _as_of(tokens: list[Token], i: int) -> str | None:
    """AS OF EPOCH and AS OF TIMESTAMP end a SELECT; elsewhere OF is an alias."""
    reads = _text(tokens, i + 1) == "OF" and _text(tokens, i + 2) in ("EPOCH", "TIMESTAMP")
    return "AS_OF" if reads else None


def _version(terminal: str) -> Callable[[list[Token], int], str | None]:
    """The word before AS OF that names a snapshot of a relation, with FOR before it or without."""

    def meaning(tokens: list[Token], i: int) -> str | None:
        named = i - 2 if _text(tokens, i - 1) == "FOR" else i - 1
        begins = _type(tokens, named - 1) in ("FROM", "COMMA", "JOIN", "DOT")
        reads = [_text(tokens, i + n) for n in (1, 2)] == ["AS", "OF"]
        literal = _type(tokens, i + 3) in ("INTEGER_LITERAL", "TEXT_LITERAL", "TIMESTAMP")
        literal = literal or (terminal == "TIME_AS_OF" and _text(tokens, i + 3) == "PROCTIME")
        named_so = begins and _type(tokens, named) in _NAMES
        return terminal if reads and literal and named_so else None

    return meaning


def _belongs_to_version(tokens: list[Token], i: int) -> bool:
    """FOR, AS and OF around such a word."""
    words = {"FOR": i + 1, "AS": i - 1, "OF": i - 2}
    return _type(tokens, words.get(_text(tokens, i), -1)) in ("VERSION_AS_OF", "TIME_AS_OF")


def _proctime(tokens: list[Token], i: int) -> str | None:
    return "PROCTIME" if _type(tokens, i - 3) == "TIME_AS_OF" else None


def _epoch(tokens: list[Token], i: int) -> str | None:
    return "EPOCH" if _type(tokens, i - 2) == "AS_OF" else None


def _values(tokens: list[Token], i: int) -> str | None:
    """`(VALUES (1), 2)` are a call and a number: rows are all in parentheses."""
    if _type(tokens, i - 1) != "LPAR" or _type(tokens, i + 1) != "LPAR":
        return None
    depth = 0
    for at, token in enumerate(tokens[i + 1 :], i + 1):
        depth += (token.type == "LPAR") - (token.type == "RPAR")
        if depth < 0:
            return None
        if depth == 0 and token.type != "RPAR":
            row = token.type == "COMMA" and _type(tokens, at + 1) == "LPAR"
            return None if row or token.type in KEYWORDS else "IDENTIFIER"
    return None


def _window(tokens: list[Token], i: int) -> str | None:
    named = _type(tokens, i + 1) in _NAMES and _type(tokens, i + 2) == "AS"
    return "NAMED_WINDOWS" if named and _type(tokens, i + 3) == "LPAR" else None


def _returning(tokens: list[Token], i: int) -> str | None:
    changes = tokens[0].type in ("INSERT", "UPDATE", "DELETE")
    behind = _type(tokens, i - 1) in _ENDS_A_RELATION | _LITERALS
    ends = _type(tokens, i + 1) in (None, "COMMA", "FROM", "RPAR", "EQUAL")
    return "RETURNING" if changes and behind and not ends else None


def _aggregate(tokens: list[Token], i: int) -> str | None:
    """`aggregate:f(..)`."""
    colon = _type(tokens, i + 1) == "COLON" and _type(tokens, i + 3) == "LPAR"
    return "AGGREGATE_OF" if colon and _type(tokens, i + 2) in _NAMES else None


def _inside(word: str, terminal: str) -> Callable[[list[Token], int], None]:
    """Of a call: a word between its parentheses, outside of inner ones."""

    def meaning(tokens: list[Token], i: int) -> None:
        depth = 0
        for token in tokens[i + 1 :]:
            depth += (token.type == "LPAR") - (token.type == "RPAR")
            if depth == 0:
                return
            if depth == 1 and token.upper() == word:
                token.type = terminal
                return

    return meaning


def _watermark(tokens: list[Token], i: int) -> str | None:
    """WATERMARK FOR column AS value stands among the columns of CREATE."""
    element = tokens[0].type == "CREATE" and _type(tokens, i - 1) in ("LPAR", "COMMA")
    declares = _text(tokens, i + 1) == "FOR" and _type(tokens, i + 3) == "AS"
    return "WATERMARK" if element and declares else None


def _append(tokens: list[Token], i: int) -> str | None:
    """APPEND ONLY follows the columns of CREATE."""
    behind = tokens[0].type == "CREATE" and _type(tokens, i - 1) == "RPAR"
    return "APPEND_ONLY" if behind and _text(tokens, i + 1) == "ONLY" else None


_ON_CLOSE = ("ON", "WINDOW", "CLOSE")


def _emit(tokens: list[Token], i: int) -> str | None:
    closes = tuple(_text(tokens, i + n) for n in (1, 2, 3)) == _ON_CLOSE
    return "EMIT_ON_CLOSE" if closes else None


def _session(tokens: list[Token], i: int) -> str | None:
    """SESSION WITH GAP is a frame of a window function."""
    frames = [_text(tokens, i + n) for n in (1, 2)] == ["WITH", "GAP"]
    return "SESSION_FRAME" if frames else None


_MEANINGS: dict[str, Callable[[list[Token], int], str | None]] = {
    "AGGREGATE": _aggregate,
    **{
        word: _between(word, _ENDS_A_RELATION | _LITERALS | {"LEFT"}, frozenset({"JOIN"}))
        for word in ("ANTI", "SEMI")
    },
    "APPEND": _append,
    "AS": _as_of,
    "ASOF": _between("ASOF", _ENDS_A_RELATION | _LITERALS, _JOINS),
    "ALL": _between("ALL_OF", _COMPARISONS, frozenset({"LPAR"})),
    "ANY": _between("ANY_OF", _COMPARISONS, frozenset({"LPAR"})),
    "SOME": _between("ANY_OF", _COMPARISONS, frozenset({"LPAR"})),
    "BOTH": _trim_side,
    "BY": _by,
    "CORRESPONDING": _corresponding,
    "LEADING": _trim_side,
    "TRAILING": _trim_side,
    "CROSS": _between("CROSS", _ENDS_A_RELATION | _LITERALS, frozenset({"JOIN"})),
    "EMIT": _emit,
    "EPOCH": _epoch,
    "EXCEPT": _excluded,
    "EXCLUDE": _excluded,
    "GROUPING": _grouping,
    "IGNORE": _nulls_treated("NULLS_IGNORED"),
    "LATERAL": _lateral,
    "NATURAL": _between("NATURAL", _ENDS_A_RELATION | _LITERALS, _JOINS),
    "ORDINALITY": _ordinality,
    "OVERLAY": _inside("PLACING", "PLACING"),
    "PROCTIME": _proctime,
    "POSITION": _inside("IN", "POSITION_IN"),
    "RECURSIVE": _recursive,
    "RESPECT": _nulls_treated("NULLS_RESPECTED"),
    "RETURNING": _returning,
    "SELECT": _nothing,
    "SESSION": _session,
    "SYMMETRIC": _symmetric,
    "SYSTEM_TIME": _version("TIME_AS_OF"),
    "SYSTEM_VERSION": _version("VERSION_AS_OF"),
    "TIMESTAMP": _version("TIME_AS_OF"),
    "TRY_CAST": lambda tokens, i: "TRY_CAST" if _type(tokens, i + 1) == "LPAR" else None,
    "VALUES": _values,
    "VERSION": _version("VERSION_AS_OF"),
    "WATERMARK": _watermark,
    "WINDOW": _window,
}


def _has_zone(tokens: list[Token], i: int) -> bool:
    """Whether the token is the TIMESTAMP of TIMESTAMP WITH TIME ZONE, perhaps with a precision."""
    if _text(tokens, i) != "TIMESTAMP":
        return False
    end = i + 4 if _type(tokens, i + 3) == "RPAR" else i + 1
    return [_text(tokens, end + n) for n in range(3)] == ["WITH", "TIME", "ZONE"]


def _lengthens_a_type(tokens: list[Token], i: int) -> bool:
    """DOUBLE PRECISION is DOUBLE, CHARACTER VARYING is CHARACTER, TIMESTAMP WITHOUT TIME ZONE is
    TIMESTAMP, and WITH one it is TIMESTAMPTZ."""
    word, before = _text(tokens, i), _text(tokens, i - 1)
    if word == "PRECISION" and before == "DOUBLE":
        of_function = any(token.type == "FUNCTION" for token in tokens[1:5])
        return of_function or _type(tokens, i - 2) not in _NOT_BEFORE_A_TYPE
    if word == "VARYING":
        return before == "CHARACTER"
    for at in (i, i - 1, i - 2):
        zone = _text(tokens, at + 1) == "TIME" and _text(tokens, at + 2) == "ZONE"
        if zone and _text(tokens, at) in ("WITH", "WITHOUT"):
            named = at - 4 if _type(tokens, at - 1) == "RPAR" else at - 1  # TIMESTAMP (3)
            return _text(tokens, named) in ("TIMESTAMP", "TIME")
    return False
