"""The changes of tests/cases/changes to queries that make tables, carried out by `apply` on Kafka
and Spark: the tables hold what the new statements make of the same records from the beginning.

Of a change behind the state (class 2), which holds for each key from its next row on, those keys
are compared that have one; of what is built anew all are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from awaiting import await_until
from datadriven import CASES, Case, read
from engine.flow import START_MS, latest
from engine.live import PATIENCE, Live

from streamsql.kafka.client import KafkaClient
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

SOURCES = """
CREATE STREAM $views (user_id STRING KEY, page STRING, viewed_at BIGINT, duration INT)
  WITH (KAFKA_TOPIC='$views', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM $clicks (user_id STRING KEY, page STRING, target STRING)
  WITH (KAFKA_TOPIC='$clicks', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE $users (id STRING PRIMARY KEY, name STRING, age INT)
  WITH (KAFKA_TOPIC='$users', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE $teams (id STRING PRIMARY KEY, title STRING, owner STRING)
  WITH (KAFKA_TOPIC='$teams', KEY_FORMAT='JSON', VALUE_FORMAT='DELIMITED', PARTITIONS=2);
"""
TOPICS = ("VIEWS", "CLICKS", "USERS", "TEAMS")
TOGETHER = 12
"""So many changes are one `apply`."""
PAGES = "abcdefgh"
"""Of each user one, so that the rows of a page are in one partition, in their order."""
MINUTE_MS = 60_000
_TABLE = re.compile(r"CREATE TABLE x (WITH \([^)]*\) )?AS\b")


@dataclass(frozen=True)
class Changed:
    """A change of the matrix. The statements make the table $x with the number behind it."""

    id: str
    number: int
    before: str
    after: str
    keeps_state: bool

    @property
    def table(self) -> str:
        return f"x{self.number}"

    @property
    def anew(self) -> str:
        """The new statement, as that of another table."""
        return self.after.replace(f"${self.table} ", f"$anew{self.number} ", 1)


def _changes() -> Iterator[Changed]:
    files = sorted((CASES / "changes").glob("*.txt"))
    for number, case in enumerate(case for path in files for case in read(path)):
        before, _, after = case.input.partition("\n=>\n")
        change = int(case.expected[0])
        single = all(_TABLE.match(sql) and sql.count(";") == 1 for sql in (before, after))
        if single and change in (2, 3, 4):
            yield Changed(case.id, number, *_named(case, number), keeps_state=change == 2)


def _named(case: Case, number: int) -> tuple[str, str]:
    before, _, after = re.sub(r"\b(views|clicks|users|teams)\b", r"$\1", case.input).partition(
        "\n=>\n"
    )
    return before.replace(" x ", f" $x{number} ", 1), after.replace(" x ", f" $x{number} ", 1)


CHANGES = list(_changes())
BATCHES = [CHANGES[n : n + TOGETHER] for n in range(0, len(CHANGES), TOGETHER)]


def _insert(live: Live, phase: int) -> None:
    """Every page has rows in both phases but the last one, and users and teams come and go."""
    time, views, clicks = START_MS + phase * 200 * MINUTE_MS, [], []
    for n in range(64):
        user = n % 8
        if user == 7 and phase == 1 or user == 6 and n > 8:
            continue
        row = f"{time + n * MINUTE_MS}, 'u{user}', '{PAGES[user]}'"
        views.append(f"({row}, {n}, {n * 7 % 64 * 2 + phase})")
        clicks.append(f"({row}, 't{n % 3}')")
    columns = "(ROWTIME, user_id, page, viewed_at, duration)"
    live.run(f"INSERT INTO $views {columns} VALUES {', '.join(views)};")
    live.run(f"INSERT INTO $clicks (ROWTIME, user_id, page, target) VALUES {', '.join(clicks)};")
    rows = range(phase, 8 + phase)
    users = ", ".join(f"({time}, 'u{n}', 'name {n}', {(n + phase) % 6})" for n in rows)
    live.run(f"INSERT INTO $users (ROWTIME, id, name, age) VALUES {users};")
    teams = ", ".join(f"({time}, 'u{n}', 'title {phase}', 'u{n}')" for n in rows if n % 3 > 0)
    live.run(f"INSERT INTO $teams (ROWTIME, id, title, owner) VALUES {teams};")


def _await_all_read(live: Live, kafka: KafkaClient) -> None:
    ends = {live.name(topic): kafka.end_offsets(live.name(topic)) for topic in TOPICS}

    def have_read() -> bool:
        positions = [
            live.engine._state.queries.position(query.id) or {}
            for query in live.engine.queries()
            if query.sink is not None and live.suffix in query.sink
        ]
        return all(
            found and all(found[topic] == ends[topic] for topic in found) for found in positions
        )

    await_until(have_read, "all queries to have read all", PATIENCE)


def _rows(kafka: KafkaClient, topic: str) -> dict[bytes, bytes]:
    """Without the groups of a table that have become empty: whether there was a moment at which
    they were not depends on the batches that rows came in."""
    return {key: row for key, row in latest(kafka, topic).items() if not _is_empty(row)}


def _is_empty(row: bytes) -> bool:
    values = json.loads(row)
    return 0 in (values.get("N"), values.get("M"))


def _differs(changed: Changed, live: Live, kafka: KafkaClient, since: dict[int, int]) -> str:
    """In which rows the table is another one than the one that was made anew."""
    topic = live.name(changed.table.upper())
    found = _rows(kafka, topic)
    expected = _rows(kafka, live.name(f"ANEW{changed.number}"))
    if changed.keeps_state:
        records = kafka.consume(topic, until=kafka.end_offsets(topic))
        touched = {r.key for r in records if r.offset >= since[r.partition]}
        found = {key: row for key, row in found.items() if key in touched}
        expected = {key: row for key, row in expected.items() if key in touched}
    if found == expected and expected:
        return ""
    keys = sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))
    lines = [f"  {k!r}: {found.get(k)!r}, anew {expected.get(k)!r}" for k in keys[:5]]
    return "\n".join([changed.id, f"  {len(found)} rows, anew {len(expected)}", *lines])


@pytest.mark.parametrize("batch", BATCHES, ids=[batch[0].id for batch in BATCHES])
def test_tables_are_what_the_new_statements_make(
    batch: Sequence[Changed], live: Live, kafka: KafkaClient
) -> None:
    live.run(SOURCES + "\n".join(changed.before for changed in batch))
    _insert(live, 0)
    _await_all_read(live, kafka)
    since = {c.number: kafka.end_offsets(live.name(c.table.upper())) for c in batch}
    text = live.sql(SOURCES + "\n".join(changed.after for changed in batch))
    live.engine.changes.apply([NamedText("f.sql", text)])
    _insert(live, 1)
    _await_all_read(live, kafka)
    live.run("\n".join(changed.anew for changed in batch))
    _await_all_read(live, kafka)
    found: list[str] = []

    def are_alike() -> bool:
        found[:] = [_differs(changed, live, kafka, since[changed.number]) for changed in batch]
        return not any(found)

    try:
        await_until(are_alike, "the tables to be as those that are made anew", PATIENCE)
    finally:
        print("\n".join(filter(None, found)))
