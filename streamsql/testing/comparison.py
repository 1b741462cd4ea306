"""Whether the records of a topic are those expected.

FINAL: of a table the last record of each key counts, since an engine may fold the changes between;
of a stream, all records of each key in their order. EXACT: the same records in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from streamsql.schema import Kind
from streamsql.test_driver.json_values import JSON, JSONObject, agree, to_text


class Comparison(Enum):
    """How strictly records are compared."""

    FINAL = "final"
    EXACT = "exact"


@dataclass(frozen=True)
class Sink:
    """A compared topic. `writers` is its number of queries."""

    kind: Kind
    writers: int = 1
    table_times: bool = False
    """Whether FINAL compares the times of a table's records too."""


@dataclass
class _Group:
    """The records of one key and window."""

    first: JSONObject
    expected: list[JSONObject] = field(default_factory=list)
    found: list[JSONObject] = field(default_factory=list)

    @property
    def label(self) -> str:
        window = self.first.get("window")
        bounds = f" [{window['start']}, {window['end']}]" if window else ""
        return f"key {to_text(self.first.get('key'))}{bounds}"


def differences(
    sink: Sink,
    expected: Sequence[JSONObject],
    found: Sequence[JSONObject],
    comparison: Comparison = Comparison.FINAL,
) -> list[str]:
    """A line for each record of the topic that is missing, wrong or too many."""
    if comparison is Comparison.EXACT:
        return _in_order("", expected, found)
    groups = _grouped(expected, found)
    if sink.kind is Kind.TABLE:
        return [line for group in groups for line in _last_differs(group, sink.table_times)]
    if sink.writers > 1:
        return [line for group in groups for line in _in_any_order(group)]
    return [d for g in groups for d in _in_order(f"{g.label}: ", g.expected, g.found)]


def _grouped(expected: Sequence[JSONObject], found: Sequence[JSONObject]) -> list[_Group]:
    groups: list[_Group] = []
    for record in expected:
        _group_of(record, groups).expected.append(record)
    for record in found:
        _group_of(record, groups).found.append(record)
    return groups


def _group_of(record: JSONObject, groups: list[_Group]) -> _Group:
    for group in groups:
        if _same_key(group.first, record):
            return group
    groups.append(_Group(record))
    return groups[-1]


def _same_key(expected: JSONObject, found: JSONObject) -> bool:
    return agree(expected.get("key"), found.get("key")) and _same_window(expected, found)


def _same_window(expected: JSONObject, found: JSONObject) -> bool:
    return bool(_bounds(expected) == _bounds(found))


def _bounds(record: JSONObject) -> JSON:
    window = record.get("window")
    if not window:
        return None
    return window["start"], window["end"], str(window.get("type", "time")).lower()


def _same_headers(expected: JSONObject, found: JSONObject) -> bool:
    return list(expected.get("headers") or ()) == list(found.get("headers") or ())


def _same_time(expected: JSONObject, found: JSONObject) -> bool:
    wanted = expected.get("timestamp")
    return wanted is None or bool(wanted == found["timestamp"])


def _same(expected: JSONObject, found: JSONObject) -> bool:
    return (
        _same_key(expected, found)
        and agree(expected.get("value"), found.get("value"))
        and _same_time(expected, found)
        and _same_headers(expected, found)
    )


def _last_differs(group: _Group, times: bool) -> list[str]:
    if not group.expected:
        if group.found[-1].get("value") is None:
            return []
        return [f"{group.label}: not expected, found {_show(group.found[-1])}"]
    wanted = group.expected[-1]
    if not group.found:
        if wanted.get("value") is None:
            return []
        return [f"{group.label}: expected {_show(wanted)}, found nothing"]
    actual = group.found[-1]
    same = agree(wanted.get("value"), actual.get("value")) and _same_headers(wanted, actual)
    if same and (not times or _same_time(wanted, actual)):
        return []
    return [f"{group.label}: expected {_show(wanted)}, found {_show(actual)}"]


def _in_order(label: str, expected: Sequence[JSONObject], found: Sequence[JSONObject]) -> list[str]:
    lines = []
    for i in range(max(len(expected), len(found))):
        if i >= len(found):
            lines.append(f"{label}expected {_show_all(label, expected[i])}, found nothing")
        elif i >= len(expected):
            lines.append(f"{label}not expected, found {_show_all(label, found[i])}")
        elif not _same(expected[i], found[i]):
            wanted, actual = expected[i], found[i]
            both = f"expected {_show_all(label, wanted)}, found {_show_all(label, actual)}"
            lines.append(label + both)
    return lines


def _in_any_order(group: _Group) -> list[str]:
    left = list(group.found)
    lines = []
    for wanted in group.expected:
        match = next((record for record in left if _same(wanted, record)), None)
        if match is None:
            lines.append(f"{group.label}: expected {_show(wanted)}, found no such record")
        else:
            left.remove(match)
    return [*lines, *(f"{group.label}: not expected, found {_show(record)}" for record in left)]


def _show_all(label: str, record: JSONObject) -> str:
    """With its key where the line does not begin with it."""
    return _show(record) if label else f"key {to_text(record.get('key'))} {_show(record)}"


def _show(record: JSONObject) -> str:
    text = to_text(record.get("value"))
    if record.get("timestamp") is not None:
        text += f" at {record['timestamp']}"
    if record.get("headers"):
        text += f" with headers {to_text(record['headers'])}"
    return text
