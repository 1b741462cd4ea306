"""TO_CHAR by PostgreSQL's templates (PostgreSQL 15, 9.8), as expressions of Spark over `v.x`.

What is no part of a template stands for itself. Moments are in UTC.
"""

from __future__ import annotations

import re

from sqlglot import exp

from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.relational.intervals import computed
from streamsql.planner.scopes.spans import span_of
from streamsql.types import STRING

_MICROS = "PMOD(UNIX_MICROS(v.x), 1000000)"
_NUMBERS = {
    "HH24": ("HOUR(v.x)", 2),
    "HH12": ("(HOUR(v.x) + 11) % 12 + 1", 2),
    "HH": ("(HOUR(v.x) + 11) % 12 + 1", 2),
    "MI": ("MINUTE(v.x)", 2),
    "SSSS": ("HOUR(v.x) * 3600 + MINUTE(v.x) * 60 + SECOND(v.x)", 0),
    "SS": ("SECOND(v.x)", 2),
    "MS": (f"{_MICROS} DIV 1000", 3),
    "US": (_MICROS, 6),
    "YYYY": ("YEAR(v.x)", 4),
    "YYY": ("YEAR(v.x) % 1000", 3),
    "YY": ("YEAR(v.x) % 100", 2),
    "Y": ("YEAR(v.x) % 10", 1),
    "IYYY": ("EXTRACT(YEAROFWEEK FROM v.x)", 4),
    "CC": ("CEIL(YEAR(v.x) / 100)", 2),
    "MM": ("MONTH(v.x)", 2),
    "DDD": ("DAYOFYEAR(v.x)", 3),
    "DD": ("DAY(v.x)", 2),
    "D": ("DAYOFWEEK(v.x)", 1),
    "ID": ("WEEKDAY(v.x) + 1", 1),
    "WW": ("(DAYOFYEAR(v.x) - 1) DIV 7 + 1", 2),
    "W": ("(DAY(v.x) - 1) DIV 7 + 1", 1),
    "IW": ("WEEKOFYEAR(v.x)", 2),
    "Q": ("QUARTER(v.x)", 1),
    "J": ("DATEDIFF(CAST(v.x AS DATE), DATE '1970-01-01') + 2440588", 0),
}
"""Numbers of a moment, and how many digits they have at least."""
_OF_INTERVALS = {
    "HH24": ("v.x.micros DIV 3600000000", 2),
    "HH12": ("PMOD(v.x.micros DIV 3600000000 + 11, 12) + 1", 2),
    "HH": ("PMOD(v.x.micros DIV 3600000000 + 11, 12) + 1", 2),
    "MI": ("v.x.micros DIV 60000000 % 60", 2),
    "SS": ("v.x.micros DIV 1000000 % 60", 2),
    "MS": ("v.x.micros % 1000000 DIV 1000", 3),
    "US": ("v.x.micros % 1000000", 6),
    "YYYY": ("v.x.months DIV 12", 4),
    "YY": ("v.x.months DIV 12 % 100", 2),
    "MM": ("v.x.months % 12", 2),
    "DD": ("v.x.days", 2),
}
_NAMES = {
    "MONTH": ("DATE_FORMAT(v.x, 'MMMM')", 9),
    "MON": ("DATE_FORMAT(v.x, 'MMM')", 0),
    "DAY": ("DATE_FORMAT(v.x, 'EEEE')", 9),
    "DY": ("DATE_FORMAT(v.x, 'EEE')", 0),
}
"""Names, and the width that they are filled up to; their case is that of the result."""
_HALVES = {"AM": ("AM", "PM"), "A.M.": ("A.M.", "P.M.")}
_ZONE = {"TZH": "+00", "TZM": "00", "OF": "+00", "TZ": "UTC"}
_WORDS = sorted(
    {*_NUMBERS, *_OF_INTERVALS, *_NAMES, *_ZONE, *_HALVES, "PM", "P.M."}, key=len, reverse=True
)
_PART = re.compile(
    rf'"(?P<quoted>[^"]*)"|(?P<trims>FM|fm)?(?P<word>{"|".join(map(re.escape, _WORDS))})'
    r"(?P<ordinal>TH|th)?|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)


def of_moment(moment: Expression, template: exp.Literal) -> Expression:
    parts = [
        _literal(part) if part["word"] is None else _of_moment(part)
        for part in _PART.finditer(template.name)
    ]
    return computed(f"CONCAT({', '.join(parts) or _quoted('')})", STRING, x=moment)


def of_interval(interval: Expression, template: exp.Literal) -> Expression:
    parts = []
    for part in _PART.finditer(template.name):
        word = (part["word"] or "").upper()
        if word and word not in _OF_INTERVALS:
            raise TypeMismatchError(
                f"invalid format specification for an interval value: {part['word']}",
                hint="Intervals have hours, minutes, seconds, years, months and days.",
                span=span_of(template),
            )
        parts.append(_number(part, *_OF_INTERVALS[word]) if word else _literal(part))
    return computed(f"CONCAT({', '.join(parts) or _quoted('')})", STRING, x=interval)


def _of_moment(part: re.Match[str]) -> str:
    written = part["word"]
    word = written.upper()
    if word in _NUMBERS:
        return _number(part, *_NUMBERS[word])
    if word in _NAMES:
        name, width = _NAMES[word]
        shown = name if part["trims"] or not width else f"RPAD({name}, {width}, ' ')"
        if written.isupper():
            return f"UPPER({shown})"
        return f"LOWER({shown})" if written.islower() else shown
    if word in _ZONE:
        return _quoted(_ZONE[word].lower() if written.islower() else _ZONE[word])
    morning, evening = _HALVES["A.M." if "." in word else "AM"]
    halves = (morning, evening) if written.isupper() else (morning.lower(), evening.lower())
    return "IF(HOUR(v.x) < 12, {}, {})".format(*map(_quoted, halves))


def _number(part: re.Match[str], number: str, digits: int) -> str:
    plain = f"CAST({number} AS STRING)"
    sign, size = f"IF({number} < 0, '-', '')", f"CAST(ABS({number}) AS STRING)"
    shown = plain
    if digits and not part["trims"]:
        # LPAD cuts what is longer.
        shown = f"CONCAT({sign}, LPAD({size}, GREATEST(LENGTH({size}), {digits}), '0'))"
    if part["ordinal"] is None:
        return shown
    ends = (
        f"CASE WHEN {number} % 100 BETWEEN 11 AND 13 THEN 'th' WHEN {number} % 10 = 1 THEN 'st' "
        f"WHEN {number} % 10 = 2 THEN 'nd' WHEN {number} % 10 = 3 THEN 'rd' ELSE 'th' END"
    )
    ends = f"UPPER({ends})" if part["ordinal"].isupper() else ends
    return f"CONCAT({shown}, {ends})"


def _literal(part: re.Match[str]) -> str:
    return _quoted(part["other"] if part["quoted"] is None else part["quoted"])


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
