"""Intervals of SQL: months, which have no fixed length, and milliseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_DAY_MS = 86_400_000
_MONTHS = {
    "YEAR": 12,
    "QUARTER": 3,
    "MONTH": 1,
    "MON": 1,
    "DECADE": 120,
    "CENTURY": 1200,
    "YR": 12,
    "Y": 12,
}
_MILLIS = {
    "WEEK": 7 * _DAY_MS,
    "DAY": _DAY_MS,
    "HOUR": 3_600_000,
    "HR": 3_600_000,
    "MINUTE": 60_000,
    "MIN": 60_000,
    "SECOND": 1_000,
    "SEC": 1_000,
    "MILLISECOND": 1,
    "W": 7 * _DAY_MS,
    "D": _DAY_MS,
    "H": 3_600_000,
    "M": 60_000,
    "S": 1_000,
    "MS": 1,
}
_PART = re.compile(
    r"\s*(?:(?P<clock>[+-]?\d+:\d\d(?::\d\d(?:\.\d{1,3})?)?)"
    r"|(?P<amount>[+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(?P<unit>[A-Za-z]+))\s*",
    re.ASCII,
)
_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*", re.ASCII)


@dataclass(frozen=True)
class Interval:
    """Months and milliseconds."""

    months: int
    millis: int

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.millis)


def interval(text: str, unit: str | None = None) -> Interval | None:
    """Parses `1 day 02:30:00`, `-3 months`, `1.5 hours ago`, or a number of the `unit` or of
    seconds; None if invalid."""
    if unit is not None and (number := _NUMBER.fullmatch(text)):
        return _amount(Decimal(number[1]), unit)
    if number := _NUMBER.fullmatch(text):
        # PostgreSQL's unit of a number alone.
        return _amount(Decimal(number[1]), "SECOND")
    body = text.strip()
    ago = body.lower().endswith(" ago")
    found = _sum(body[:-4] if ago else body)
    return -found if found is not None and ago else found


def _sum(text: str) -> Interval | None:
    months = millis = at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or (found := _part(part)) is None:
            return None
        months, millis, at = months + found.months, millis + found.millis, part.end()
    return Interval(months, millis) if at else None


def _part(part: re.Match[str]) -> Interval | None:
    if part["clock"] is None:
        return _amount(Decimal(part["amount"]), part["unit"].upper())
    hours, minutes, *seconds = part["clock"].lstrip("+-").split(":")
    millis = (int(hours) * 60 + int(minutes)) * 60_000
    millis += int(Decimal(seconds[0]) * 1000) if seconds else 0
    return Interval(0, -millis if part["clock"].startswith("-") else millis)


def _amount(amount: Decimal, unit: str) -> Interval | None:
    name = unit if unit in _MONTHS or unit in _MILLIS else unit.removesuffix("S")
    if name in _MONTHS:
        months = amount * _MONTHS[name]
        return Interval(int(months), 0) if months == int(months) else None
    if name in _MILLIS:
        millis = amount * _MILLIS[name]
        return Interval(0, int(millis)) if millis == int(millis) else None
    return None
