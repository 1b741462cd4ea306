"""Functions that other databases have and this language has under another name, or not: what to
write instead. Names that are merely misspelt are found by `did_you_mean`."""

from __future__ import annotations

_LENGTH = "The length of a text is LEN(text)."
_INTERVAL = (
    "No column can hold an interval: EXTRACT(EPOCH FROM a - b) are seconds, and DATE - DATE is a "
    "number of days."
)
_SHARE = "It is PERCENTILE(x, 0.9), exact, or APPROX_PERCENTILE(x, 0.9) from a sketch."
_JOINED = "It is STRING_AGG(x, ', ')."
_ARRIVAL = "By order of arrival it is {name}(x); by another column {by}(x, column)."
_FIRST = _ARRIVAL.format(name="EARLIEST_BY_OFFSET", by="ARG_MIN")
_LAST = _ARRIVAL.format(name="LATEST_BY_OFFSET", by="ARG_MAX")
_SETS = "A query has one GROUP BY: write a query for each grouping."

HINTS = {
    "AGE": _INTERVAL,
    "APPROX_COUNT_DISTINCT": "The estimate is COUNT_DISTINCT(x); COUNT(DISTINCT x) is exact.",
    "ARRAY_TO_STRING": "It is ARRAY_JOIN(array, ', ').",
    "CARDINALITY": "It is ARRAY_LENGTH(array).",
    "CHARACTER_LENGTH": _LENGTH,
    "CHAR_LENGTH": _LENGTH,
    "CORR": "It is CORRELATION(x, y).",
    "DATEDIFF": _INTERVAL,
    "DATE_DIFF": _INTERVAL,
    "FIRST": _FIRST,
    "FIRST_VALUE": f"It needs a window: OVER (..). Of a group: {_FIRST[0].lower()}{_FIRST[1:]}",
    "GROUPING": _SETS,
    "GROUP_CONCAT": _JOINED,
    "LAST": _LAST,
    "LAST_VALUE": f"It needs a window: OVER (..). Of a group: {_LAST[0].lower()}{_LAST[1:]}",
    "LISTAGG": _JOINED,
    "MAX_BY": "It is ARG_MAX(value, by).",
    "MIN_BY": "It is ARG_MIN(value, by).",
    "MOD": "It is the operator %: a % b.",
    "MODE": "HISTOGRAM(x) counts each value of a group.",
    "NVL": "It is COALESCE(a, b).",
    "PERCENTILE_APPROX": "It is APPROX_PERCENTILE(x, 0.9).",
    "POSITION": "Write POSITION(part IN text), or INSTR(text, part).",
    "QUANTILE": _SHARE,
    "QUANTILE_CONT": _SHARE,
    "SPLIT_PART": "It is SPLIT(text, ',')[n].",
    "STRING_TO_ARRAY": "It is SPLIT(text, ',').",
    "STRPOS": "It is INSTR(text, part).",
    "UNIQ": "The estimate is COUNT_DISTINCT(x); COUNT(DISTINCT x) is exact.",
    "UNNEST": "EXPLODE(array) in the SELECT makes a row of each element.",
}
"""By names in upper case."""
