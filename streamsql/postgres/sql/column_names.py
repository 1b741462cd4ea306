"""PostgreSQL's names of SELECT columns without alias: the function or column name. The engine's are
KSQL_COL_0, or qualified names of joins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from streamsql.api.language import lexemes

_ENDS = frozenset(
    "FROM WHERE GROUP HAVING ORDER LIMIT OFFSET UNION EXCEPT INTERSECT EMIT WINDOW PARTITION "
    "QUALIFY".split()
)
_BEHIND_CALLS = frozenset(("FILTER", "OVER", "WITHIN"))
_GENERATED = re.compile(r"ksql_col_\d+")
_NAMES = ("WORD", "QUOTED")
_UNNAMED = "?column?"
_Token = tuple[str, str]
_REMEMBERED = 1_000
"""Cache size: a prepared statement is executed repeatedly."""


@lru_cache(_REMEMBERED)
def column_names(text: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """The names of a query's columns, given the engine's, in lower case as clients see them."""
    tokens = [(kind, piece) for kind, piece, _ in lexemes(text) if kind not in ("SPACE", "COMMENT")]
    items = list(_items(tokens))
    if len(items) != len(given) or any(item[-1:] == [("SYMBOL", "*")] for item in items):
        return given
    return tuple(_name(item, name) for item, name in zip(items, given, strict=True))


def _items(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    at = next((n for n, depth in _depths(tokens) if not depth and _is(tokens[n], "SELECT")), None)
    if at is None:
        return
    rest = tokens[at + 1 :]
    if rest and _is(rest[0], "DISTINCT", "ALL"):
        rest = rest[1:]
    item: list[_Token] = []
    for n, depth in _depths(rest):
        if not depth and (_is(rest[n], *_ENDS) or rest[n][1] == ";"):
            break
        if not depth and rest[n][1] == ",":
            yield item
            item = []
        else:
            item.append(rest[n])
    if item:
        yield item


def _depths(tokens: Sequence[_Token]) -> Iterator[tuple[int, int]]:
    """The positions of the tokens, each with the number of open parentheses."""
    depth = 0
    for n, (_, piece) in enumerate(tokens):
        if piece in (")", "]"):
            depth -= 1
        yield n, depth
        if piece in ("(", "["):
            depth += 1


def _is(token: _Token, *words: str) -> bool:
    return token[0] == "WORD" and token[1].upper() in words


def _name(item: Sequence[_Token], given: str) -> str:
    if _GENERATED.fullmatch(given):
        return _of_expression(item) or _UNNAMED
    column = _of_column(item)
    return given if column is None or len(item) == 1 else column


def _of_column(item: Sequence[_Token]) -> str | None:
    """The last part of a name, qualified or not; None for anything else."""
    named = all(kind in _NAMES for kind, _ in item[::2])
    if not item or not named or len(item) % 2 == 0 or any(p != "." for _, p in item[1::2]):
        return None
    kind, last = item[-1]
    return last[1:-1] if kind == "QUOTED" else last.lower()


def _of_expression(item: Sequence[_Token]) -> str | None:
    """Name of an expression; None without one."""
    column = _of_column(item)
    if column is not None or not item:
        return column
    cast = [n for n, depth in _depths(item) if not depth and item[n][1] == "::"]
    if cast:
        return _of_expression(item[: cast[-1]]) or item[cast[-1] + 1][1].lower()
    if _is(item[0], "CASE") and _is(item[-1], "END"):
        otherwise = [n for n, token in enumerate(item) if _is(token, "ELSE")]
        return (_of_column(item[otherwise[-1] + 1 : -1]) if otherwise else None) or "case"
    end = _closing(item, 0)
    if item[0][1] == "(" and end == len(item) - 1:
        return _of_expression(item[1:end])
    return _of_call(item)


def _of_call(item: Sequence[_Token]) -> str | None:
    if len(item) < 3 or item[0][0] not in _NAMES or item[1][1] != "(":
        return None
    end = _closing(item, 1)
    if end + 1 < len(item) and not _is(item[end + 1], *_BEHIND_CALLS):
        return None
    if _is(item[0], "CAST"):
        inner = item[2:end]
        at = max((n for n, depth in _depths(inner) if not depth and _is(inner[n], "AS")), default=0)
        return _of_expression(inner[:at]) or inner[at + 1][1].lower()
    return item[0][1].strip('"`').lower()


def _closing(item: Sequence[_Token], opening: int) -> int:
    """Position of the matching closing parenthesis, or the end."""
    depth = 0
    for n in range(opening, len(item)):
        depth += {"(": 1, ")": -1}.get(item[n][1], 0)
        if not depth:
            return n
    return len(item)
