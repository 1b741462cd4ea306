"""Regular expression functions in Java's syntax. An invalid pattern fails the call, not the query.
They run in the JVM part, because Spark's own functions would end the query, and accept only literal
group numbers."""

from __future__ import annotations

import re
from typing import Any

from streamsql import types
from streamsql.functions.base import Call, SparkColumn, overload, scalar
from streamsql.types import SQLType

_CATEGORY = "string"
_TEXTS = types.array(types.STRING)


def _replace(F: Any, call: Call, *arguments: SparkColumn) -> SparkColumn:
    del F
    return call.java("Regex.replace", types.STRING, *arguments)


def _split(F: Any, call: Call, *arguments: SparkColumn) -> SparkColumn:
    del F
    return call.java("Regex.split", _TEXTS, *arguments)


def _find(method: str, result: SQLType) -> Any:
    """A missing match is not a failure; an invalid pattern is."""

    def impl(
        F: Any, call: Call, pattern: SparkColumn, text: SparkColumn, *group: SparkColumn
    ) -> SparkColumn:
        found = call.java(method, result, pattern, text, group[0] if group else F.lit(0))
        if _is_plain(call.constants[0]):
            return found
        known = call.java("Regex.isPattern", types.BOOLEAN, pattern)
        return F.coalesce(found, F.when(~known, call.fail("invalid pattern", result)))

    return impl


def _splits_safely(call: Call) -> bool:
    return _is_plain(call.constants[1])


def _replaces_safely(call: Call) -> bool:
    new = call.constants[2]
    return _splits_safely(call) and isinstance(new, str) and not set(new) & set("$\\")


def _is_plain(pattern: object) -> bool:
    """Whether Java surely takes the (literal) pattern: what Python takes and is nothing special."""
    if not isinstance(pattern, str) or not re.fullmatch(
        r"[\w\s.*+?|^$()\[\]@:,;/%#=<>-]*", pattern
    ):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return "(?" not in pattern and "&&" not in pattern


def _like(
    F: Any, call: Call, text: SparkColumn, pattern: SparkColumn, *flags: SparkColumn
) -> SparkColumn:
    """Whether there is a match anywhere in the text."""
    given = call.constants[1]
    if flags:
        pattern = F.concat(F.lit(f"(?{call.constants[2]})"), pattern)
    bare = given.removeprefix("(?s)^(?:") if isinstance(given, str) else given
    if _is_plain(given) or (bare != given and isinstance(bare, str) and _is_plain("(" + bare)):
        return F.regexp_like(text, pattern)
    found = call.java("Regex.extract", types.STRING, pattern, text, F.lit(0)).isNotNull()
    known = call.java("Regex.isPattern", types.BOOLEAN, pattern)
    checked = F.when(known, found).otherwise(call.fail("invalid pattern", types.BOOLEAN))
    return F.when(text.isNotNull() & pattern.isNotNull(), checked)


_EXTRACT = _find("Regex.extract", types.STRING)
_EXTRACT_ALL = _find("Regex.extractAll", _TEXTS)

REGEXES = (
    scalar(
        "REGEXP_REPLACE",
        "The text with each match of a pattern replaced; `$1` is the match's first group.",
        _CATEGORY,
        overload(
            "text STRING, pattern STRING, replacement STRING -> STRING",
            _replace,
            with_call=True,
            safe=_replaces_safely,
        ),
        fallible="invalid pattern, or a group that it lacks",
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
            safe=_splits_safely,
        ),
        fallible="invalid pattern",
        example=("REGEXP_SPLIT_TO_ARRAY('a1b2', '[0-9]')", "['a', 'b', '']"),
    ),
    scalar(
        "REGEXP_LIKE",
        "Whether a pattern matches anywhere in the text; the flag 'i' ignores case.",
        _CATEGORY,
        overload("text STRING, pattern STRING -> BOOLEAN", _like, with_call=True),
        overload(
            "text STRING, pattern STRING, const flags STRING -> BOOLEAN", _like, with_call=True
        ),
        example=("REGEXP_LIKE('a1b22', '[0-9]{2}')", "TRUE"),
    ),
    scalar(
        "REGEXP_EXTRACT",
        "The first match of a pattern, or one of its groups; null without a match.",
        _CATEGORY,
        overload("pattern STRING, text STRING -> STRING", _EXTRACT, with_call=True),
        overload("pattern STRING, text STRING, group INT -> STRING", _EXTRACT, with_call=True),
        example=("REGEXP_EXTRACT('(.*)@(.*)', 'ann@home', 2)", "'home'"),
    ),
    scalar(
        "REGEXP_EXTRACT_ALL",
        "All matches of a pattern, or one group of each match.",
        _CATEGORY,
        overload("pattern STRING, text STRING -> ARRAY<STRING>", _EXTRACT_ALL, with_call=True),
        overload(
            "pattern STRING, text STRING, group INT -> ARRAY<STRING>",
            _EXTRACT_ALL,
            with_call=True,
        ),
        example=("REGEXP_EXTRACT_ALL('[0-9]+', 'a1b22')", "['1', '22']"),
    ),
)
