"""Intervals of SQL, as PostgreSQL reads and writes them: months, days and microseconds, none of
which has a fixed number of the next."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_MONTHS = {
    **dict.fromkeys(("YEAR", "YR", "Y"), 12),
    **dict.fromkeys(("MONTH", "MON"), 1),
    "QUARTER": 3,
    **dict.fromkeys(("DECADE", "DEC"), 120),
    **dict.fromkeys(("CENTURY", "CENTURIE", "CENT", "C"), 1200),
    **dict.fromkeys(("MILLENNIUM", "MILLENNIA", "MIL"), 12_000),
}
_DAYS = {**dict.fromkeys(("DAY", "D"), 1), **dict.fromkeys(("WEEK", "W"), 7)}
_MICROS = {
    **dict.fromkeys(("HOUR", "HR", "H"), 3600 * _SECOND),
    **dict.fromkeys(("MINUTE", "MIN", "M"), 60 * _SECOND),
    **dict.fromkeys(("SECOND", "SEC", "S"), _SECOND),
    **dict.fromkeys(("MILLISECOND", "MSEC", "MS"), 1_000),
    **dict.fromkeys(("MICROSECOND", "USEC", "US"), 1),
}
_AMOUNT = r"[+-]?\s*(?:\d+(?:\.\d*)?|\.\d+)"
_PART = re.compile(
    r"\s*(?:(?P<years>[+-]?\d+)-(?P<months>\d{1,2})(?=\s|$)|(?P<days>[+-]?\d+)(?=\s+[+-]?\d+:)"
    r"|(?P<clock>[+-]?\s*\d+:(?:\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)?)"
    rf"|(?P<amount>{_AMOUNT})\s*(?P<unit>[A-Za-z]+)|(?P<seconds>{_AMOUNT})(?=\s*$))\s*",
    re.ASCII,
)
_NUMBER = re.compile(rf"\s*({_AMOUNT})\s*", re.ASCII)
_ISO = re.compile(r"P((?:[+-]?[\d.]+[YMWD])*)(?:T((?:[+-]?[\d.]+[HMS])*))?", re.ASCII)
_ISO_PART = re.compile(r"([+-]?[\d.]+)([A-Z])")
_ISO_UNITS = {"Y": "YEAR", "M": "MONTH", "W": "WEEK", "D": "DAY"}
_ISO_CLOCK = {"H": "HOUR", "M": "MINUTE", "S": "SECOND"}


@dataclass(frozen=True)
class Interval:
    """Months, days and microseconds."""

    months: int = 0
    days: int = 0
    micros: int = 0

    @property
    def millis(self) -> int:
        """The days, of 24 hours, and the microseconds, as milliseconds."""
        return int((self.days * _DAY + self.micros) / 1000)

    @property
    def length(self) -> int:
        """In microseconds, by which intervals are compared: a month has 30 days."""
        return (self.months * 30 + self.days) * _DAY + self.micros

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.micros)

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            self.months + other.months, self.days + other.days, self.micros + other.micros
        )

    def __mul__(self, factor: Decimal) -> Interval:
        """Fractions of months and days become days and microseconds."""
        months, part = _split(self.months * factor)
        days, rest = _split(self.days * factor)
        more, left = _split(part * 30)
        micros = self.micros * factor + (rest + left) * _DAY
        return Interval(months, days + more, int(micros.to_integral_value()))

    @property
    def units(self) -> int:
        """How many of the three are not zero."""
        return sum(map(bool, (self.months, self.days, self.micros)))

    @property
    def is_in_range(self) -> bool:
        small = max(abs(self.months), abs(self.days)) < 2**31
        return small and -(2**63) <= self.micros < 2**63

    def __str__(self) -> str:
        """PostgreSQL's text: `1 year 2 mons -3 days +04:05:06.7`."""
        years, months = int(self.months / 12), self.months - int(self.months / 12) * 12
        words, before = [], False
        for amount, unit in ((years, "year"), (months, "mon"), (self.days, "day")):
            if amount:
                sign = "+" if before and amount > 0 else ""
                words.append(f"{sign}{amount} {unit}{'' if amount == 1 else 's'}")
                before = amount < 0
        if self.micros or not words:
            sign = "-" if self.micros < 0 else "+" if before else ""
            seconds, fraction = divmod(abs(self.micros), _SECOND)
            minutes, hours = seconds // 60 % 60, seconds // 3600
            text = f"{hours:02}:{minutes:02}:{seconds % 60:02}.{fraction:06}"
            words.append(sign + text.rstrip("0").rstrip("."))
        return " ".join(words)


def _split(value: Decimal) -> tuple[int, Decimal]:
    whole = int(value)
    return whole, value - whole


def interval(text: str, unit: str | None = None) -> Interval | None:
    """Parses `1 day 02:30:00`, `-3 months`, `1.5 hours ago`, `P1DT2H`, or a number of the `unit` or
    of seconds; None if invalid."""
    if number := _NUMBER.fullmatch(text):
        # PostgreSQL's unit of a number alone is the second.
        found = _amount(_decimal(number[1]), unit or "SECOND")
    elif (iso := _ISO.fullmatch(text.strip())) and len(text.strip()) > 1:
        found = _iso(iso)
    else:
        body = text.strip()
        ago = body.lower().endswith(" ago")
        found = _sum(body[:-4] if ago else body)
        found = -found if found is not None and ago else found
    return found if found is not None and found.is_in_range else None


def _decimal(text: str) -> Decimal:
    return Decimal("".join(text.split()))


def _iso(found: re.Match[str]) -> Interval | None:
    whole = Interval()
    for text, units in ((found[1], _ISO_UNITS), (found[2] or "", _ISO_CLOCK)):
        for amount, letter in _ISO_PART.findall(text):
            part = _amount(Decimal(amount), units[letter]) if amount.count(".") < 2 else None
            if part is None:
                return None
            whole += part
    return whole


def _sum(text: str) -> Interval | None:
    whole, at = Interval(), 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or (found := _part(part)) is None:
            return None
        whole, at = whole + found, part.end()
    return whole if at else None


def _part(part: re.Match[str]) -> Interval | None:
    if part["years"] is not None:
        months = abs(int(part["years"])) * 12 + int(part["months"])
        return Interval(months=-months if part["years"].startswith("-") else months)
    if part["days"] is not None:
        return Interval(days=int(part["days"]))
    if part["seconds"] is not None:
        return _amount(_decimal(part["seconds"]), "SECOND")
    if part["clock"] is None:
        return _amount(_decimal(part["amount"]), part["unit"].upper())
    hours, minutes, *seconds = part["clock"].lstrip("+- \t\n").split(":")
    whole = Decimal(int(hours) * 60 + int(minutes or 0)) * 60
    whole += Decimal(seconds[0]) if seconds else 0
    micros = int((whole * _SECOND).to_integral_value())
    return Interval(micros=-micros if part["clock"].startswith("-") else micros)


def _amount(amount: Decimal, unit: str) -> Interval | None:
    names = (unit, unit.removesuffix("S"))
    for name in names:
        if name in _MONTHS:
            months = amount * _MONTHS[name]
            if _MONTHS[name] > 1:
                return Interval(months=int(months.to_integral_value()))
            return Interval(months=1) * amount
        if name in _DAYS:
            return Interval(days=_DAYS[name]) * amount
        if name in _MICROS:
            return Interval(micros=int((amount * _MICROS[name]).to_integral_value()))
    return None
