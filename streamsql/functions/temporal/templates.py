"""TO_CHAR, TO_TIMESTAMP and TO_DATE with the template patterns of PostgreSQL.

A pattern is a literal: it is written out beforehand as one of java.time's, so that a row costs what
FORMAT_TIMESTAMP costs. (PostgreSQL 15, "9.8. Data Type Formatting Functions", table 9.26.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from streamsql import types
from streamsql.functions.base import Call, SparkColumn, always, overload, scalar

_CATEGORY = "date and time"
_PADDED = {
    "HH24": "HH",
    "HH12": "hh",
    "HH": "hh",
    "MI": "mm",
    "SS": "ss",
    "MM": "MM",
    "DD": "dd",
    "DDD": "DDD",
}
"""Template pattern -> java.time's; behind FM, which takes leading zeros away, one letter of it."""
_AS_IS = {
    "YYYY": "yyyy",
    "YY": "yy",
    "MS": "SSS",
    "US": "SSSSSS",
    "Q": "Q",
}
_WORDS = {"Mon": "MMM", "Dy": "EEE", "AM": "a", "PM": "a"}
"""Written exactly so: their case is that of the result."""
_LONG_WORDS = {"Month": "MMMM", "Day": "EEEE"}
"""Only behind FM: PostgreSQL fills them up with blanks, which java.time's patterns cannot."""
_NUMBERS = "|".join(sorted({*_PADDED, *_AS_IS}, key=len, reverse=True))
_PART = re.compile(
    rf'"(?P<quoted>[^"]*)"|(?P<fill>FM)?(?P<word>{"|".join([*_LONG_WORDS, *_WORDS])})'
    rf"|(?P<trim>FM)?(?P<number>(?i:{_NUMBERS}))|(?P<other>[^A-Za-z\"])"
)


class _Unknown(Exception):
    """An unsupported part of a template."""


def java_pattern(template: str) -> str:
    """The equivalent pattern of java.time; _Unknown for an unsupported part."""
    found, text, place = "", "", 0
    while place < len(template):
        part = _PART.match(template, place)
        if part is None:
            raise _Unknown(re.match(r"[A-Za-z]*|.", template[place:])[0])  # type: ignore[index]
        place = part.end()
        if part["quoted"] is not None or part["other"] is not None:
            text += part["quoted"] or part["other"] or ""
        else:
            found, text = found + _quoted(text) + _java_letters(part), ""
    return found + _quoted(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text else ""


def _java_letters(part: re.Match[str]) -> str:
    if (word := part["word"]) is not None:
        if word in _LONG_WORDS and part["fill"] is None:
            raise _Unknown(word)
        return {**_WORDS, **_LONG_WORDS}[word]
    number = part["number"].upper()
    padded = _PADDED.get(number)
    if padded is None:
        return _AS_IS[number]
    return padded[0] if part["trim"] else padded


def _check(constants: Sequence[object]) -> str | None:
    try:
        java_pattern(str(constants[1]))
    except _Unknown as unknown:
        known = ", ".join([*_AS_IS, *_PADDED, *_WORDS, *(f"FM{word}" for word in _LONG_WORDS)])
        return f"knows no '{unknown}' in a pattern, but {known}; text stands between double quotes"
    return None


def _pattern(F: Any, call: Call) -> SparkColumn:
    return F.lit(java_pattern(str(call.constants[1])))


def _to_char(F: Any, call: Call, moment: SparkColumn, template: SparkColumn) -> SparkColumn:
    del template
    moment = moment.cast(call.spark_type(types.TIMESTAMP))
    return call.java(
        "DateTimes.formatTimestamp", types.STRING, moment, _pattern(F, call), F.lit("UTC")
    )


def _to_timestamp(F: Any, call: Call, text: SparkColumn, template: SparkColumn) -> SparkColumn:
    del template
    return call.java(
        "DateTimes.parseTimestamp", types.TIMESTAMP, text, _pattern(F, call), F.lit("UTC")
    )


def _to_date(F: Any, call: Call, text: SparkColumn, template: SparkColumn) -> SparkColumn:
    del template
    return call.java("DateTimes.parseWholeDate", types.DATE, text, _pattern(F, call))


def _of_epoch(F: Any, seconds: SparkColumn) -> SparkColumn:
    return F.timestamp_millis(F.floor(seconds * 1000).cast("bigint"))


TEMPLATES = (
    scalar(
        "TO_CHAR",
        "The timestamp or date formatted by PostgreSQL's pattern.",
        _CATEGORY,
        *(
            overload(
                f"moment {kind}, const pattern STRING -> STRING",
                _to_char,
                with_call=True,
                safe=always,
                check=_check,
            )
            for kind in ("TIMESTAMP", "DATE")
        ),
        example=(
            ("TO_CHAR(FROM_UNIXTIME(0), 'YYYY-MM-DD HH24:MI:SS.MS')", "'1970-01-01 00:00:00.000'"),
            ("TO_CHAR(CAST('2024-02-03' AS DATE), 'FMDD Mon, \"day\" FMDDD')", "'3 Feb, day 34'"),
        ),
    ),
    scalar(
        "TO_TIMESTAMP",
        "The timestamp of a text, parsed by PostgreSQL's pattern, or of a number of seconds since "
        "the epoch.",
        _CATEGORY,
        overload(
            "text STRING, const pattern STRING -> TIMESTAMP",
            _to_timestamp,
            with_call=True,
            check=_check,
        ),
        overload("seconds DOUBLE -> TIMESTAMP", _of_epoch),
        fallible="the text does not follow the pattern",
        example=(
            (
                "TO_TIMESTAMP('31.12.2024 10:05', 'DD.MM.YYYY HH24:MI')",
                "2024-12-31T10:05:00.000",
            ),
            ("TO_TIMESTAMP(1.5)", "1970-01-01T00:00:01.500"),
        ),
    ),
    scalar(
        "TO_DATE",
        "The date of a text, parsed by PostgreSQL's pattern.",
        _CATEGORY,
        overload(
            "text STRING, const pattern STRING -> DATE", _to_date, with_call=True, check=_check
        ),
        fallible="the text does not follow the pattern",
        example=("TO_DATE('3 Feb 2024', 'FMDD Mon YYYY')", "2024-02-03"),
    ),
)
