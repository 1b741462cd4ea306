"""docs/functions.md, made from the declarations: `python -m streamsql.functions.reference`."""

from __future__ import annotations

from streamsql.functions import REGISTRY
from streamsql.functions.base import AggregateFunction, Function

_HEAD = """\
# Functions

<!-- Made by `python -m streamsql.functions.reference > docs/functions.md`; do not edit. -->

Names are case-insensitive. Unless a description says otherwise, a null argument gives a null
result. INTEGER arguments are taken where BIGINT, DECIMAL or DOUBLE is asked for, and text where a
DATE, TIME, TIMESTAMP or BYTES is. `...` marks a parameter that may be repeated or left out, one
capital letter a type that is the same wherever it stands. A call that fails in a row, for example
PARSE_DATE of a text that is no date, gives null and an entry in the processing log; as a condition
it is not met.

Texts are measured in characters (Unicode code points). Patterns of dates and times are those of
Java's DateTimeFormatter, regular expressions those of Java.
"""

_TITLES = {
    "conditional": "Null and any type",
    "numeric": "Numbers",
    "string": "Text",
    "bytes": "Bytes",
    "date and time": "Dates and times",
    "collection": "Arrays and maps",
    "json": "JSON",
    "url": "URLs",
    "aggregate": "Aggregates",
    "table": "Table functions",
}


def markdown() -> str:
    """The whole document."""
    parts = [_HEAD]
    for category, title in _TITLES.items():
        functions = [f for f in REGISTRY if f.category == category]
        parts.append(f"## {title}\n")
        parts.extend(map(_section, functions))
    return "\n".join(parts)


def _section(function: Function) -> str:
    calls = [f"{function.name}{s} -> {s.returns}" for s in function.signatures]
    lines = [f"### {function.name}", "", function.doc]
    if isinstance(function, AggregateFunction):
        tables = "Streams and tables." if function.undo else "Streams only."
        lines.append(tables)
    lines += ["", "```sql", *calls, *(f"-- {e} is {r}" for e, r in function.examples), "```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(), end="")
