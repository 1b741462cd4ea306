"""Functions with regular expressions, in Java's syntax.

A pattern that a row brings along may be no pattern at all, which must not end the query: it is
compiled on trial first. A group number must be known beforehand, so those patterns are literals.
"""

from __future__ import annotations

import re
from typing import Any

from streamsql.functions.base import Call, SparkColumn, overload, scalar

_CATEGORY = "string"


def _pattern(F: Any, call: Call, index: int, pattern: SparkColumn) -> SparkColumn:
    """The pattern; null if it is not one. `Pattern.toString` gives the text it was made of."""
    if isinstance(call.constants[index], str):
        return pattern
    return F.try_reflect(F.lit("java.util.regex.Pattern"), F.lit("compile"), pattern)


def _is_literal(call: Call) -> bool:
    return isinstance(call.constants[1], str)


def _replace(
    F: Any, call: Call, text: SparkColumn, pattern: SparkColumn, new: SparkColumn
) -> SparkColumn:
    return F.regexp_replace(text, _pattern(F, call, 1, pattern), new)


def _split(F: Any, call: Call, text: SparkColumn, pattern: SparkColumn) -> SparkColumn:
    return F.split(text, _pattern(F, call, 1, pattern), -1)


def _group(call: Call) -> int | None:
    """The group asked for; None if the pattern has fewer."""
    group = call.constants[2] if len(call.constants) > 2 else 0
    if not isinstance(group, int) or group < 0:
        return None
    return group if group <= _groups(str(call.constants[0])) else None


def _groups(pattern: str) -> int:
    """How many capturing groups a pattern has: its open parentheses that are neither escaped, nor
    in brackets, nor of the form `(?:`, `(?=` ... (`(?<name>` does capture)."""
    bare = re.sub(r"\\.", "", pattern)
    bare = re.sub(r"\[[^\]]*\]", "", bare)
    return len(re.findall(r"\((?!\?)|\(\?<(?![=!])", bare))


def _extract(
    F: Any, call: Call, pattern: SparkColumn, text: SparkColumn, *_: SparkColumn
) -> SparkColumn:
    group = _group(call)
    if group is None:
        return F.lit(None).cast("string")
    found = F.regexp_extract(text, str(call.constants[0]), group)
    return F.when(F.rlike(text, pattern), found)


def _extract_all(
    F: Any, call: Call, pattern: SparkColumn, text: SparkColumn, *_: SparkColumn
) -> SparkColumn:
    group = _group(call)
    if group is None:
        return F.lit(None).cast("array<string>")
    return F.regexp_extract_all(text, pattern, F.lit(group))


REGEXES = (
    scalar(
        "REGEXP_REPLACE",
        "The text with each match of a pattern replaced; `$1` is the match's first group.",
        _CATEGORY,
        overload(
            "text STRING, pattern STRING, replacement STRING -> STRING",
            _replace,
            with_call=True,
            safe=_is_literal,
        ),
        fallible="invalid pattern",
        example=("REGEXP_REPLACE('a1b22', '[0-9]+', '#')", "'a#b#'"),
    ),
    scalar(
        "REGEXP_SPLIT_TO_ARRAY",
        "The parts between matches of a pattern, empty ones included.",
        _CATEGORY,
        overload(
            "text STRING, pattern STRING -> ARRAY<STRING>",
            _split,
            with_call=True,
            safe=_is_literal,
        ),
        fallible="invalid pattern",
        example=("REGEXP_SPLIT_TO_ARRAY('a1b2', '[0-9]')", "['a', 'b', '']"),
    ),
    scalar(
        "REGEXP_EXTRACT",
        "The first match of a pattern, or a group of it; null if there is none.",
        _CATEGORY,
        overload("const pattern STRING, text STRING -> STRING", _extract, with_call=True),
        overload(
            "const pattern STRING, text STRING, const group INT -> STRING",
            _extract,
            with_call=True,
        ),
        example=("REGEXP_EXTRACT('(.*)@(.*)', 'ann@home', 2)", "'home'"),
    ),
    scalar(
        "REGEXP_EXTRACT_ALL",
        "All matches of a pattern, or a group of each.",
        _CATEGORY,
        overload(
            "const pattern STRING, text STRING -> ARRAY<STRING>", _extract_all, with_call=True
        ),
        overload(
            "const pattern STRING, text STRING, const group INT -> ARRAY<STRING>",
            _extract_all,
            with_call=True,
        ),
        example=("REGEXP_EXTRACT_ALL('[0-9]+', 'a1b22')", "['1', '22']"),
    ),
)
