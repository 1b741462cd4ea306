"""The changes of tests/cases/changes whose queries run on Kafka and Spark: what they read, and the
records that come before a change and behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from awaiting import await_until
from datadriven import CASES, Case, read
from engine.flow import START_MS
from engine.live import PATIENCE, Live

from streamsql.kafka.client import KafkaClient

SOURCES = """
CREATE STREAM $views (user_id STRING KEY, page STRING, viewed_at BIGINT, duration INT,
    tags ARRAY<STRING>, place STRUCT<city STRING, zip INT>)
  WITH (KAFKA_TOPIC='$views', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE STREAM $clicks (user_id STRING KEY, page STRING, target STRING)
  WITH (KAFKA_TOPIC='$clicks', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE $users (id STRING PRIMARY KEY, name STRING, age INT)
  WITH (KAFKA_TOPIC='$users', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE $teams (id STRING PRIMARY KEY, title STRING, owner STRING)
  WITH (KAFKA_TOPIC='$teams', KEY_FORMAT='JSON', VALUE_FORMAT='DELIMITED', PARTITIONS=2);
"""
TOPICS = ("VIEWS", "CLICKS", "USERS", "TEAMS")
PAGES = "abcdefghi"
"""Of each user one, so that the rows of a page are in one partition, in their order."""
PLACE = "STRUCT(city := 'Ghent', zip := 9000)"
MINUTE_MS = 60_000
_REFUSED = "or replace: refused"


@dataclass(frozen=True)
class Changed:
    """A change of the matrix. The statements make the stream or table $x with the number behind
    it."""

    id: str
    number: int
    before: str
    after: str
    keeps_state: bool

    @property
    def name(self) -> str:
        return f"x{self.number}"

    @property
    def was(self) -> str:
        """The old statement, as that of another stream or table."""
        return self.before.replace(f"${self.name} ", f"$was{self.number} ", 1)

    @property
    def anew(self) -> str:
        """The new statement, as that of another stream or table."""
        return self.after.replace(f"${self.name} ", f"$anew{self.number} ", 1)


def changes_of(kind: str) -> list[Changed]:
    """Those of single queries that make streams, or tables, and that can be carried out."""
    made = re.compile(rf"CREATE {kind} x (WITH \([^)]*\) )?AS\b")
    found = []
    files = sorted((CASES / "changes").glob("*.txt"))
    for number, case in enumerate(case for path in files for case in read(path)):
        before, _, after = case.input.partition("\n=>\n")
        change, refused = int(case.expected[0]), case.expected.endswith(_REFUSED)
        single = all(made.match(sql) and sql.count(";") == 1 for sql in (before, after))
        if single and change in (2, 3, 4) and not (refused and kind == "STREAM"):
            kept = change == 2 or "its state is rewritten" in case.expected
            found.append(Changed(case.id, number, *_named(case, number), keeps_state=kept))
    return found


def _named(case: Case, number: int) -> tuple[str, str]:
    before, _, after = re.sub(r"\b(views|clicks|users|teams)\b", r"$\1", case.input).partition(
        "\n=>\n"
    )
    return before.replace(" x ", f" $x{number} ", 1), after.replace(" x ", f" $x{number} ", 1)


def insert_tables(live: Live, phase: int) -> None:
    """Users and teams come and go; some users are called as pages are."""
    time, rows = START_MS + phase * 200 * MINUTE_MS, range(phase, 8 + phase)
    users = ", ".join(f"({time}, 'u{n}', 'name {n}', {(n + phase) % 6})" for n in rows)
    users += "".join(
        f", ({time}, '{page}', 'page {page}', {4 + phase})" for page in PAGES + PAGES.upper()
    )
    live.run(f"INSERT INTO $users (ROWTIME, id, name, age) VALUES {users};")
    teams = ", ".join(f"({time}, 'u{n}', 'title {phase}', 'u{n}')" for n in rows if n % 3 > 0)
    live.run(f"INSERT INTO $teams (ROWTIME, id, title, owner) VALUES {teams};")


def insert_streams(live: Live, phase: int) -> None:
    """Every page has rows in both phases but the last two, which have them in one of them."""
    time, views, clicks = START_MS + phase * 200 * MINUTE_MS, [], []
    for n in range(64):
        user = 8 if phase == 1 and n % 8 == 7 else n % 8
        if user == 6 and n > 8:
            continue
        row = f"{time + n * MINUTE_MS}, 'u{user}', '{PAGES[user]}'"
        views.append(f"({row}, {n}, {n * 7 % 64 * 2 + phase}, ARRAY['{n}', 'tag'], {PLACE})")
        clicks.append(f"({row}, 't{n % 3}')")
    columns = "(ROWTIME, user_id, page, viewed_at, duration, tags, place)"
    live.run(f"INSERT INTO $views {columns} VALUES {', '.join(views)};")
    live.run(f"INSERT INTO $clicks (ROWTIME, user_id, page, target) VALUES {', '.join(clicks)};")


def await_all_read(live: Live, kafka: KafkaClient) -> None:
    """Wait until each query of the test has read all of its topics."""
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
