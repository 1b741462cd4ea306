"""Timestamps as text: ISO dates that may stop after any part, with an optional zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_PARTIAL = re.compile(
    r"(?P<year>\d{4})"
    r"(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
    r"(?:[T ](?P<hour>\d{1,2})?(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
    r"(?:\.(?P<fraction>\d{1,9}))?)?)?)?)?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str, *, hour_24: bool = False) -> int | None:
    """Milliseconds since the epoch of `2019`, `2019-01-02T11`, `2019-01-02T11:30:15.123+0100` ...

    UTC without a zone; None for an invalid text. `hour_24`: a day may end at 24:00, as in ISO 8601,
    which Spark's CAST rejects.
    """
    found = _PARTIAL.fullmatch(text.strip())
    if found is None:
        return None
    part = found.groupdict()
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    millis = int((part["fraction"] or "0").ljust(3, "0")[:3])
    ends = timedelta(days=hour_24 and (hour, minute, second, millis) == (24, 0, 0, 0))
    try:
        day = datetime(
            int(part["year"]),
            int(part["month"] or 1),
            int(part["day"] or 1),
            0 if ends else hour,
            minute,
            second,
            tzinfo=_zone(part["zone"]),
        )
        return (day + ends - _EPOCH) // timedelta(milliseconds=1) + millis
    except (ValueError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
