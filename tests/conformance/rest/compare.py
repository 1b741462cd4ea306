"""When an answer is the one expected: of entities and headers only what the test names counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsql.test_driver.json_values import JSONObject, agree

STARTS_WITH = "|starts_with"
STATEMENT = "{STATEMENT}"


def entity_differs(expected: JSONObject, found: JSONObject, statement: str) -> str | None:
    """What is wrong with an entity of /ksql."""
    return next((d for d in _differences(expected, found, statement)), None)


def _differences(expected: JSONObject, found: Any, statement: str) -> list[str]:
    lines = []
    for key, wanted in expected.items():
        name = key.removesuffix(STARTS_WITH)
        actual = found.get(name) if isinstance(found, dict) else None
        if isinstance(wanted, str):
            wanted = wanted.replace(STATEMENT, statement)
        if isinstance(wanted, dict):
            lines += [f"{name}.{line}" for line in _differences(wanted, actual, statement)]
        elif key.endswith(STARTS_WITH):
            if not str(actual).startswith(wanted):
                lines.append(f"{name}: expected {wanted!r}.., found {actual!r}")
        elif not agree(wanted, actual):
            lines.append(f"{name}: expected {wanted!r}, found {actual!r}")
    return lines


def rows_differ(
    expected: Sequence[JSONObject],
    found: Sequence[JSONObject],
    statement: str,
    *,
    in_order: bool,
) -> str | None:
    """What is wrong with the answer of /query: a header, rows and perhaps a final message."""
    if len(expected) != len(found):
        return f"expected {len(expected)} elements, found {len(found)}: {_short(found)}"
    left = [row for row in found if "row" in row]
    for wanted, actual in zip(expected, found, strict=True):
        if "row" not in wanted or in_order:
            lines = _differences(wanted, actual, statement)
            if lines:
                return lines[0]
            continue
        match = next((row for row in left if not _differences(wanted, row, statement)), None)
        if match is None:
            return f"no row is {wanted['row']}: {_short(found)}"
        left.remove(match)
    return None


def _short(found: Sequence[JSONObject]) -> str:
    text = str(list(found))
    return text if len(text) <= 300 else text[:300] + ".."
