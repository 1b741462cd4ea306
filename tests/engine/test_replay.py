"""The same history gives the same tables, as it arrives and in one catch-up.

`soak/test_replay_kills.py` adds SIGKILLs.
"""

from __future__ import annotations

import pytest
from engine.live import Live
from soak.history import QUERIES, SOURCES, TABLES, History
from soak.replay import Replay

from streamsql.engine import QueryState
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

CHAPTERS = 3
PATIENCE = 180.0


def test_as_it_arrives_and_in_one_catch_up(live: Live, kafka: KafkaClient) -> None:
    history = History(seed=17)
    live.run(SOURCES)
    replay = Replay(kafka, history, lambda name: live.name(name.upper()), PATIENCE)
    # Changes of tables before any query: those start with a catch-up, too.
    replay.write(history.tables(20))
    live.run(QUERIES)
    queries = [query.id for query in live.engine.queries() if live.suffix in (query.sink or "")]
    for query in queries:
        live.await_state(query, QueryState.RUNNING)
    arriving = replay.readers(lambda name: live.name(name.upper()))
    for _ in range(CHAPTERS):
        replay.chapter(arriving, changes=30, happenings=60)
    replay.close(arriving)
    for query in queries:
        live.run(f"TERMINATE {query};")

    again = QUERIES
    for table in TABLES:
        again = again.replace(f"CREATE TABLE ${table} ", f"CREATE TABLE $again{table} ")
    live.run(again)
    replay.await_tables(replay.readers(lambda name: live.name(f"AGAIN{name.upper()}")))
