"""Queries over few rows that are asked again: the JVM has the same answer at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from engine.live import PATIENCE, Live

from streamsql.errors import EvaluationError
from streamsql.properties import CONSISTENCY_TOKEN, VIEW_EPOCH
from streamsql.results import Answer
from streamsql.session import Session

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SET_UP = """
SET 'streamsql.sql.semantics' = 'standard';
CREATE TABLE $t (id INT PRIMARY KEY, a INT, c TEXT);
INSERT INTO $t VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, NULL);
CREATE MATERIALIZED VIEW $v AS SELECT a, COUNT(*) AS n FROM $t GROUP BY a;
CREATE MATERIALIZED VIEW $w AS SELECT SUM(n) AS total FROM $v;
FLUSH;
"""
QUERIES = (
    "SELECT SUM(a), COUNT(*) FROM $t",
    "SELECT * FROM $v ORDER BY a DESC",
    "SELECT total FROM $w",
    "SELECT x.total, y.n FROM $w x, (SELECT SUM(n) AS n FROM $v) y",
    "SELECT id, c FROM $t WHERE id > 1 OR c = 'x' ORDER BY id LIMIT 2",
    "SELECT c, MAX(id) OVER (PARTITION BY a) FROM $t ORDER BY id",
)
Rows = list[tuple[Any, ...]]


class Asker:
    """One session, that asks as an event loop does."""

    def __init__(self, live: Live) -> None:
        self.live = live
        properties = dict(live.session.properties)
        properties.pop(CONSISTENCY_TOKEN, None)
        self.session = Session(properties=properties)

    def usual(self, sql: str) -> Rows:
        script = self.live.engine.parse(self.live.sql(sql) + ";", self.session)
        found = self.live.engine.lookup(script, self.session)
        if found is None:
            (found,) = self.live.engine.execute(script, self.session)
        assert isinstance(found, Answer)
        return [row.values for row in found.rows]

    async def soon(self, sql: str) -> Answer | None:
        coming = self.live.engine.lookup_soon(self.live.sql(sql) + ";", self.session)
        return None if coming is None else await coming

    async def at_once(self, sql: str) -> Answer:
        """The answer of a query that has been prepared, once there is a connection."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while (found := await self.soon(sql)) is None:
            assert asyncio.get_running_loop().time() < deadline, sql
            await asyncio.sleep(0.01)
        return found


def _rows(answer: Answer) -> Rows:
    return [row.values for row in answer.rows]


def test_a_query_that_is_asked_again_is_answered_at_once(live: Live) -> None:
    live.run(SET_UP)
    asker = Asker(live)
    first = {sql: asker.usual(sql) for sql in QUERIES}

    async def asked() -> None:
        for sql in QUERIES:
            assert await asker.soon(sql) is None, "it was prepared by its first execution"
        assert {sql: asker.usual(sql) for sql in QUERIES} == first
        for sql in QUERIES:
            answer = await asker.at_once(sql)
            assert _rows(answer) == first[sql], sql
            assert (answer.epoch is None) == ("FROM $t" in sql), sql

    asyncio.run(asked())


def test_the_rows_of_a_query_that_is_answered_at_once_are_those_of_now(live: Live) -> None:
    live.run(SET_UP)
    asker, both = Asker(live), QUERIES[3]

    async def asked() -> None:
        for sql in QUERIES[0], both:
            asker.usual(sql), asker.usual(sql)
        assert _rows(await asker.at_once(both)) == [(3, 3)]
        asker.session.properties[VIEW_EPOCH] = str((await asker.at_once(both)).epoch)
        live.run("INSERT INTO $t VALUES (4, 2, 'z'); FLUSH;")
        assert _rows(await asker.at_once(both)) == [(3, 3)], "as of the epoch of the session"
        del asker.session.properties[VIEW_EPOCH]
        assert _rows(await asker.at_once(both)) == [(4, 4)]
        assert _rows(await asker.at_once(QUERIES[0])) == [(6, 4)]
        asker.session.properties[VIEW_EPOCH] = "1"
        assert await asker.soon(both) is None, "an epoch that is not kept"

    asyncio.run(asked())


def test_what_changes_or_fails_takes_the_usual_way(live: Live) -> None:
    live.run(SET_UP)
    asker = Asker(live)
    inverse = "SELECT SUM(1 / (a - 5)) FROM $t"
    moment = "SELECT COUNT(*) FROM $t WHERE NOW() > '2020-01-01'"
    everything = "SELECT * FROM $t WHERE id > 2"

    async def asked() -> None:
        for sql in inverse, moment, everything:
            asker.usual(sql), asker.usual(sql)
        assert _rows(await asker.at_once(inverse)) == [(0,)]
        assert await asker.soon(moment) is None
        live.run("INSERT INTO $t VALUES (5, 5, NULL); FLUSH;")
        assert await asker.soon(inverse) is None
        with pytest.raises(EvaluationError):
            asker.usual(inverse)
        assert _rows(await asker.at_once(everything)) == [(3, 2, None), (5, 5, None)]
        live.run("ALTER TABLE $t ADD COLUMN d INT;")
        assert await asker.soon(everything) is None, "its columns have changed"
        assert asker.usual(everything) == [(3, 2, None, None), (5, 5, None, None)]

    asyncio.run(asked())
