"""Whether the records found are those expected: of a table the last one of each key counts, since
a micro-batch folds the changes between; of a stream, all records of each key in their order."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from queries.records import Found, Window
from queries.runner import Outcome

from streamsql.schema import Kind


def problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    """What a case's outcome lacks or has too much: topics, processing log, a push query's rows."""
    found = [*_topic_problems(case, outcome), *_log_problems(case, outcome)]
    if "rows" in case:
        rows = [
            [list(row.values), "tombstone"] if row.tombstone else list(row.values)
            for row in outcome.rows
        ]
        if rows != case["rows"]:
            found.append(f"rows: expected {case['rows']}, found {rows}")
    return found


def _topic_problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    wrong = []
    for topic, found in outcome.topics.items():
        kind = next(s.kind for s in outcome.catalog.sources.values() if s.topic.name == topic)
        expected = [r for r in case.get("outputs", []) if r["topic"] == topic]
        wrong += [f"{topic}: {p}" for p in _differences(expected, found, kind)]
    return wrong


def _log_problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    """Entries in order of offset; without a `log` in the case there must be none."""
    expected = case.get("log", [])
    found = sorted(outcome.log, key=lambda e: (e["offset"] is None, e["offset"]))
    texts = [json.dumps(entry) for entry in found]
    if len(expected) != len(found):
        return [f"processing log: expected {len(expected)} entries, found {texts}"]
    wrong = []
    for want, entry, text in zip(expected, found, texts, strict=True):
        if want["message"] not in text or want.get("offset", entry["offset"]) != entry["offset"]:
            wrong.append(f"processing log: expected {want}, found {text}")
    return wrong


def _differences(expected: list[dict[str, Any]], found: list[Found], kind: Kind) -> list[str]:
    """One line for each record that is missing, wrong or too many."""
    if kind is Kind.TABLE:
        return _compare_tables(_last(expected), _last_found(found))
    return _compare_streams(_by_key(expected), _found_by_key(found))


def _identity(key: Any, window: Window | None) -> str:
    return json.dumps([_plain(key), [window.start, window.end] if window else None], sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return float(value) if isinstance(value, Decimal) else value


def _window(record: dict[str, Any]) -> Window | None:
    window = record.get("window")
    return Window(window["start"], window["end"]) if window else None


def _by_key(expected: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    keys: dict[str, list[dict[str, Any]]] = {}
    for record in expected:
        keys.setdefault(_identity(record.get("key"), _window(record)), []).append(record)
    return keys


def _found_by_key(found: list[Found]) -> dict[str, list[Found]]:
    keys: dict[str, list[Found]] = {}
    for record in found:
        keys.setdefault(_identity(record.key, record.window), []).append(record)
    return keys


def _last(expected: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: records[-1] for key, records in _by_key(expected).items()}


def _last_found(found: list[Found]) -> dict[str, Found]:
    return {key: records[-1] for key, records in _found_by_key(found).items()}


def _compare_tables(expected: dict[str, dict[str, Any]], found: dict[str, Found]) -> list[str]:
    wrong = []
    for key in {**expected, **found}:
        want, got = expected.get(key), found.get(key)
        wanted = want.get("value") if want else None
        value = got.value if got else None
        if not _agree(wanted, value):
            wrong.append(f"key {key}: expected {wanted}, found {_show(value)}")
        elif want and got and not _agree_on_time(want, got):
            wrong.append(f"key {key}: expected time {want['timestamp']}, found {got.timestamp}")
    return wrong


def _compare_streams(
    expected: dict[str, list[dict[str, Any]]], found: dict[str, list[Found]]
) -> list[str]:
    wrong = []
    for key in {**expected, **found}:
        want, got = expected.get(key, []), found.get(key, [])
        if len(want) != len(got):
            values = [_show(f.value) for f in got]
            wrong.append(f"key {key}: expected {len(want)} records, found {values}")
            continue
        for w, g in zip(want, got, strict=True):
            if not (_agree(w.get("value"), g.value) and _agree_on_time(w, g)):
                text = f"{w.get('value')} at {w.get('timestamp')}"
                wrong.append(f"key {key}: expected {text}, found {_show(g.value)} at {g.timestamp}")
            if "headers" in w and w["headers"] != g.headers:
                wrong.append(f"key {key}: expected {w['headers']}, found {g.headers}")
    return wrong


def _show(value: Any) -> str:
    return json.dumps(value, default=str)


def _agree_on_time(expected: dict[str, Any], found: Found) -> bool:
    return "timestamp" not in expected or expected["timestamp"] == found.timestamp


def _agree(expected: Any, found: Any) -> bool:
    if isinstance(expected, dict):
        if not isinstance(found, dict) or len(expected) != len(found):
            return False
        return all(_agree(v, found.get(k, found.get(k.upper(), ...))) for k, v in expected.items())
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(_agree(e, f) for e, f in zip(expected, found, strict=True))
        )
    if expected is None or isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float | Decimal) and isinstance(found, int | float | Decimal):
        return abs(float(expected) - float(found)) <= 1e-6 * max(abs(float(expected)), 1e-300)
    return bool(expected == found) and type(expected) is type(found)
