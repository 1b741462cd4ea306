"""Whether a case's outcome is the one expected: topics as `streamsql test` compares them, and with
the times of tables; in addition the processing log and a push query's rows.
"""

from __future__ import annotations

import json
from typing import Any

from queries.runner import Outcome

from streamsql.testing.comparison import Sink, differences


def problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    """What a case's outcome lacks or has too much."""
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
        sources = outcome.catalog.sources.values()
        source = next(s for s in sources if s.topic.name == topic)
        sink = Sink(source.kind, len(outcome.catalog.writers(source.name)), table_times=True)
        expected = [r for r in case.get("outputs", []) if r["topic"] == topic]
        wrong += [f"{topic}: {d}" for d in differences(sink, expected, found)]
    return wrong


def _log_problems(case: dict[str, Any], outcome: Outcome) -> list[str]:
    """Entries in order of offset; without a `log` in the case there must be none. Those
    about late rows are a sample, compared only if the case says `late`."""
    expected = case.get("log", [])
    entries = [e for e in outcome.log if case.get("late") or "lateRow" not in e["message"]]
    found = sorted(entries, key=lambda e: (e["offset"] is None, e["offset"]))
    texts = [json.dumps(entry) for entry in found]
    if len(expected) != len(found):
        return [f"processing log: expected {len(expected)} entries, found {texts}"]
    wrong = []
    for want, entry, text in zip(expected, found, texts, strict=True):
        if want["message"] not in text or want.get("offset", entry["offset"]) != entry["offset"]:
            wrong.append(f"processing log: expected {want}, found {text}")
    return wrong
