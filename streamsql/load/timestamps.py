"""Event times of loaded records: text or numbers of a column to milliseconds since the epoch.

Patterns are those of java.time, as in WITH (TIMESTAMP_FORMAT=..); times without a zone are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from streamsql.errors import ConfigError

_DIRECTIVES = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "uu": "%y", "y": "%Y", "u": "%Y",
    "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "LL": "%m",
    "dd": "%d", "d": "%d", "DDD": "%j", "EEEE": "%A", "EEE": "%a", "E": "%a",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S",
    "a": "%p", "X": "%z", "XX": "%z", "XXX": "%z", "Z": "%z", "xx": "%z", "xxx": "%z",
}  # fmt: skip
_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_DIGITS = re.compile(r"-?\d+\Z")

Parser = Callable[[object], int | None]


def timestamp_parser(pattern: str | None) -> Parser:
    """A function from a cell to ms since the epoch, None for a null; it raises ValueError for a
    text that does not fit. ConfigError for a pattern that is not understood."""
    if pattern is None:
        return parse_iso
    directives = to_strptime(pattern)

    def parse(cell: object) -> int | None:
        if cell is None:
            return None
        return _to_ms(datetime.strptime(str(cell), directives))

    return parse


def to_strptime(pattern: str) -> str:
    """The strptime form of a java.time pattern."""
    parts = []
    for match in _PART.finditer(pattern):
        text, quoted, letter = match.group(0), match.group(1), match.group(2)
        if quoted is not None:
            parts.append((quoted.replace("''", "'") or "'").replace("%", "%%"))
        elif letter is None:
            parts.append(text.replace("%", "%%"))
        elif letter in "Sn":
            parts.append("%f")
        elif text in _DIRECTIVES:
            parts.append(_DIRECTIVES[text])
        else:
            raise ConfigError(
                f"timestamp format {pattern!r}: {text} is not understood",
                hint="Such as yyyy-MM-dd'T'HH:mm:ss.SSSX.",
            )
    return "".join(parts)


def parse_iso(cell: object) -> int | None:
    """ISO 8601 text, a time or a number of milliseconds."""
    if cell is None:
        return None
    if isinstance(cell, datetime):
        return _to_ms(cell)
    if isinstance(cell, (int, float)):
        return int(cell)
    text = str(cell).strip()
    if _DIGITS.match(text) and len(text) != 4:
        return int(text)
    return _to_ms(datetime.fromisoformat(text))


def _to_ms(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
