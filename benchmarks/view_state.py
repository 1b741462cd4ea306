"""State of views that a temporal filter bounds: it must not grow with the history.

    python -m benchmarks.view_state --records 3000000 --rate 15000

Records come with the present time. Shown along the way are the bytes of each view's checkpoint, how
far its query is behind, and the rows that the view has now. Exit code 1 if the most bytes of the
last two fifths of the way are more than twice the most of the first two, without the time that the
filter takes to let the first rows out, or if a view is not empty after the last row's time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.common import show_table
from benchmarks.folder_sizes import size_of
from benchmarks.state import stays
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig, Session
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.results import Answer

_START_SECONDS = 300.0
_BURSTS = 100
"""A second."""
STEPS = 10
KEYS = 1_000
STREAM = """
CREATE STREAM visits (id BIGINT, page INT, at TIMESTAMP)
  WITH (KAFKA_TOPIC='visits', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
VIEWS = {
    "groups": """
        SELECT page, COUNT(*) AS visits, MAX(id) AS latest FROM visits
        WHERE at > NOW() - INTERVAL '{seconds} seconds' GROUP BY page""",
    "latest": """
        SELECT page, id, at FROM
          (SELECT page, id, at, ROW_NUMBER() OVER (PARTITION BY page ORDER BY id DESC) AS place
           FROM visits WHERE at > NOW() - INTERVAL '{seconds} seconds') AS ranked
        WHERE place <= 3""",
}


def rows(engine: Engine, session: Session, sql: str) -> int:
    """The number of rows of an answer."""
    answers = (part for part in engine.execute(sql, session) if isinstance(part, Answer))
    return sum(1 for answer in answers for _ in answer.rows)


def send(client: Producer, first: int, seconds: float, rate: int) -> int:
    """Records at a rate for a time; returns the number of the next one."""
    begin = time.time()
    number = first
    for burst in range(int(seconds * _BURSTS)):
        for _ in range(rate // _BURSTS):
            value = f'{{"ID":{number},"PAGE":{number % KEYS},"AT":{time.time_ns() // 1_000_000}}}'
            while True:
                try:
                    client.produce("visits", value)
                    break
                except BufferError:
                    client.poll(0.1)
            number += 1
        client.poll(0)
        time.sleep(max(0.0, begin + (burst + 1) / _BURSTS - time.time()))
    client.flush()
    return number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--rate", type=int, default=15_000, help="records a second")
    parser.add_argument("--keep", type=int, default=10, help="seconds of the filter")
    options = parser.parse_args()
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="streamsql-bench-"))
        broker = EmbeddedBroker(DataDir.at(Path(name)))
        broker.start(_START_SECONDS)
        stack.callback(broker.stop)
        engine = Engine(EngineConfig(Path(name) / "engine", broker.bootstrap))
        engine.start()
        stack.callback(engine.close)
        engine.wait_until_ready(_START_SECONDS)
        session = Session(properties={"streamsql.sql.semantics": "standard"})
        list(engine.execute(STREAM, session))
        folders = {}
        for view, query in VIEWS.items():
            text = f"CREATE MATERIALIZED VIEW {view} AS {query.format(seconds=options.keep)};"
            list(engine.execute(text, session))
            made_by = engine.catalog().get(view.upper()).created_by_query
            assert made_by is not None
            folders[view] = Path(name) / "engine" / "checkpoints" / made_by
        client = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
        # Before the first rows leave, the state grows as it should.
        sent = send(client, 0, 2 * options.keep, options.rate)
        step = options.records / options.rate / STEPS
        sizes: dict[str, list[int]] = {view: [] for view in VIEWS}
        for _ in range(STEPS):
            sent = send(client, sent, step, options.rate)
            lags = {(q.sink or "").lower(): q.lag for q in engine.queries()}
            for view, folder in folders.items():
                sizes[view].append(size_of(folder)[0])
                row = {
                    "records": sent,
                    "view": view,
                    "MiB": round(sizes[view][-1] / 2**20, 1),
                    "behind": lags[view],
                    "rows": rows(engine, session, f"SELECT * FROM {view};"),
                }
                print(row, flush=True)
        time.sleep(options.keep)
        list(engine.execute("FLUSH;", session))
        deadline = time.monotonic() + options.keep
        found = []
        for view in VIEWS:
            while left := rows(engine, session, f"SELECT * FROM {view};"):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.1)
            flat = stays(sizes[view])
            found.append({"view": view, "flat": flat, "rows at the end": left})
        show_table(found)
    return int(any(not row["flat"] or row["rows at the end"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
