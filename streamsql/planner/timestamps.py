"""Timestamps written as text: ISO dates that may stop after any part, with an optional zone."""

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


def parse_timestamp(text: str) -> int | None:
    """Milliseconds since the epoch of `2019`, `2019-01-02T11`, `2019-01-02T11:30:15.123+0100` ...

    UTC where no zone is given; None if the text is no timestamp.
    """
    found = _PARTIAL.fullmatch(text.strip())
    if found is None:
        return None
    part = found.groupdict()
    try:
        moment = datetime(
            int(part["year"]),
            int(part["month"] or 1),
            int(part["day"] or 1),
            int(part["hour"] or 0),
            int(part["minute"] or 0),
            int(part["second"] or 0),
            tzinfo=_zone(part["zone"]),
        )
    except ValueError:
        return None
    millis = int((part["fraction"] or "0").ljust(3, "0")[:3])
    return (moment - _EPOCH) // timedelta(milliseconds=1) + millis


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    sign = -1 if text[0] == "-" else 1
    digits = text[1:].replace(":", "")
    return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:])))
