"""The pipelines that the kill suite runs, and what each must have written in the end.

All read the same events, each with an id of its own; what a sink must hold is computed from the
records that are really in the input topics, in plain Python.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamsql.kafka.records import Record

SOURCES = """
CREATE STREAM events (k STRING KEY, id BIGINT, v BIGINT)
  WITH (KAFKA_TOPIC='events', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM answers (k STRING KEY, id BIGINT)
  WITH (KAFKA_TOPIC='answers', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE names (k STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='names', PARTITIONS=2, VALUE_FORMAT='JSON');
"""

WINDOW_MS = 2_000
GRACE_MS = 10_000
NEAR_MS = 500

Topics = Mapping[str, Sequence[Record]]
"""All committed records of each topic, those of each partition in the order of the log."""


@dataclass(frozen=True)
class Shape:
    """A pipeline: its statements, the topics that are looked at, and the check of their records."""

    name: str
    sql: str
    sinks: tuple[str, ...]
    check: Callable[[Topics], list[str]]
    """What is wrong, a line each."""


def value(record: Record) -> dict[str, Any]:
    """A record's JSON."""
    assert record.value is not None
    found: dict[str, Any] = json.loads(record.value)
    return found


def key(record: Record) -> str:
    """A record's key as text."""
    assert record.key is not None
    return record.key.decode()


def _events(topics: Topics) -> list[tuple[str, int, int]]:
    return [(key(r), value(r)["id"], value(r)["v"]) for r in topics["events"]]


def _is_picked(v: int) -> bool:
    return v % 10 < 9


def _is_low(v: int) -> bool:
    return v % 10 < 5


def _once(found: Counter[Any], wanted: Counter[Any]) -> list[str]:
    lost, doubled = wanted - found, found - wanted
    problems = []
    if lost:
        last = max(lost)
        problems.append(f"{lost.total()} rows lost, as {sorted(lost)[:3]}, the last one {last}")
    if doubled:
        problems.append(f"{doubled.total()} rows too many, as {sorted(doubled)[:3]}")
    return problems


def _in_order(records: Sequence[Record], order: Callable[[dict[str, Any]], int]) -> list[str]:
    """Whether what `order` gives rises within each key."""
    last: dict[str, int] = {}
    wrong = 0
    for record in records:
        place = order(value(record))
        wrong += place < last.get(key(record), place)
        last[key(record)] = place
    return [f"{wrong} rows out of order"] if wrong else []


def _with_origin(rows: Sequence[Record], name: str) -> Counter[tuple[Any, ...]]:
    """Rows by id, with the time and the headers that they take from their event."""
    return Counter((value(r)[name], key(r), r.timestamp, tuple(r.headers)) for r in rows)


def _projection(sink: str) -> Callable[[Topics], list[str]]:
    def check(topics: Topics) -> list[str]:
        rows = topics[sink]
        picked = [r for r in topics["events"] if _is_picked(value(r)["v"])]
        return [
            *_once(_with_origin(rows, "ID"), _with_origin(picked, "id")),
            *_in_order(rows, lambda row: row["ID"]),
        ]

    return check


def _two_writers(topics: Topics) -> list[str]:
    """All rows of two queries that write one topic, those of each in order."""
    rows = topics["BOTH"]
    picked = [r for r in topics["events"] if _is_picked(value(r)["v"])]
    problems = _once(_with_origin(rows, "ID"), _with_origin(picked, "id"))
    for is_low in (True, False):
        own = [r for r in rows if _is_low(value(r)["V"]) is is_low]
        problems += _in_order(own, lambda row: row["ID"])
    return problems


def _group_by(
    sink: str, takes: Callable[[int], bool] = lambda v: True
) -> Callable[[Topics], list[str]]:
    def check(topics: Topics) -> list[str]:
        rows = topics[sink]
        last = {key(r): (value(r)["N"], value(r)["TOTAL"]) for r in rows}
        counts: Counter[str] = Counter()
        totals: Counter[str] = Counter()
        for k, _, v in _events(topics):
            if takes(v):
                counts[k] += 1
                totals[k] += v
        wrong = [k for k, n in counts.items() if last.get(k) != (n, totals[k])]
        wrong += [k for k in last if k not in counts]
        problems = [f"{len(wrong)} groups are wrong, as {wrong[:3]}"] if wrong else []
        return [*problems, *_in_order(rows, lambda row: row["N"])]

    return check


def _chain(topics: Topics) -> list[str]:
    return [*_projection("SECOND")(topics), *_group_by("THIRD", _is_picked)(topics)]


def _windows_of(rows: Sequence[Record]) -> list[tuple[str, int]]:
    """Keys of windows end with the window's beginning: 8 bytes, ms."""
    keys = [row.key or b"" for row in rows]
    return [(k[:-8].decode(), int.from_bytes(k[-8:], "big") // WINDOW_MS) for k in keys]


def _windows(topics: Topics) -> list[str]:
    """Each closed window once, with all its records: grace lets none come late."""
    rows = topics["FINALS"]
    doubled = [window for window, n in Counter(_windows_of(rows)).items() if n > 1]
    wanted: Counter[tuple[str, int]] = Counter()
    for record in topics["events"]:
        assert record.timestamp is not None
        wanted[key(record), record.timestamp // WINDOW_MS] += 1
    found = {window: value(row)["N"] for window, row in zip(_windows_of(rows), rows, strict=True)}
    wrong = [window for window, n in found.items() if wanted[window] != n]
    problems = [f"{len(doubled)} windows twice"] if doubled else []
    if wrong:
        problems.append(f"{len(wrong)} windows are wrong, as {wrong[:3]}")
    newest = max(record.timestamp or 0 for record in topics["events"])
    closed = {w for w in wanted if (w[1] + 1) * WINDOW_MS + 2 * GRACE_MS < newest}
    if missing := sorted(closed - found.keys()):
        problems.append(f"{len(missing)} windows missing, as {missing[:3]}")
    return problems


def _stream_table(topics: Topics) -> list[str]:
    rows = topics["NAMED"]
    known = {key(r) for r in topics["names"]}
    found = Counter(value(r)["ID"] for r in rows)
    wanted = Counter(i for k, i, _ in _events(topics) if k in known)
    return [*_once(found, wanted), *_in_order(rows, lambda row: row["ID"])]


def _stream_stream(topics: Topics) -> list[str]:
    answers: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in topics["answers"]:
        answers[key(record)].append((record.timestamp or 0, value(record)["id"]))
    wanted: Counter[tuple[int, int]] = Counter()
    for record in topics["events"]:
        time, event = record.timestamp or 0, value(record)["id"]
        near = (a for at, a in answers[key(record)] if abs(at - time) <= NEAR_MS)
        wanted.update((event, answer) for answer in near)
    return _once(Counter((value(r)["A"], value(r)["B"]) for r in topics["MATCHED"]), wanted)


SHAPES = (
    Shape(
        "projection",
        "CREATE STREAM picked AS SELECT k, id, v FROM events WHERE v % 10 < 9;",
        ("PICKED",),
        _projection("PICKED"),
    ),
    Shape(
        "group_by",
        "CREATE TABLE totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM events GROUP BY k;",
        ("TOTALS",),
        _group_by("TOTALS"),
    ),
    Shape(
        "final_windows",
        "CREATE TABLE finals AS SELECT k, COUNT(*) AS n FROM events"
        f" WINDOW TUMBLING (SIZE {WINDOW_MS} MILLISECONDS, GRACE PERIOD {GRACE_MS} MILLISECONDS)"
        " GROUP BY k EMIT FINAL;",
        ("FINALS",),
        _windows,
    ),
    Shape(
        "stream_table",
        "CREATE STREAM named AS SELECT e.k, e.id AS id, n.name AS name"
        " FROM events e JOIN names n ON e.k = n.k;",
        ("NAMED",),
        _stream_table,
    ),
    Shape(
        "stream_stream",
        "CREATE STREAM matched AS SELECT e.k, e.id AS a, r.id AS b FROM events e"
        f" JOIN answers r WITHIN {NEAR_MS} MILLISECONDS GRACE PERIOD 1 HOUR ON e.k = r.k;",
        ("MATCHED",),
        _stream_stream,
    ),
    Shape(
        "chain",
        "CREATE STREAM first AS SELECT k, id, v FROM events;\n"
        "CREATE STREAM second AS SELECT k, id, v FROM first WHERE v % 10 < 9;\n"
        "CREATE TABLE third AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM second GROUP BY k;",
        ("SECOND", "THIRD"),
        _chain,
    ),
    Shape(
        "two_writers",
        "CREATE STREAM both (k STRING KEY, id BIGINT, v BIGINT)"
        " WITH (KAFKA_TOPIC='BOTH', PARTITIONS=2, VALUE_FORMAT='JSON');\n"
        "INSERT INTO both SELECT k, id, v FROM events WHERE v % 10 < 5;\n"
        "INSERT INTO both SELECT k, id, v FROM events WHERE v % 10 >= 5 AND v % 10 < 9;",
        ("BOTH",),
        _two_writers,
    ),
)
