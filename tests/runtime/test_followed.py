"""An engine that follows a log: an entry whose queries do not stop takes effect later, whole."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from engine.offline import Offline

from streamsql.errors import ExternalError
from streamsql.executor.queries import events, manager
from streamsql.executor.queries.phases import Starting
from streamsql.executor.queries.spark_run import Failure
from streamsql.log.entries import Entry
from streamsql.runtime.restore import _followed
from tests.statements.world import data_folder

BEFORE = """
CREATE STREAM a (k INT KEY, x INT) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM b AS SELECT k, x FROM a EMIT CHANGES;
INSERT INTO b WITH (QUERY_ID = 'two') SELECT k, x FROM a EMIT CHANGES;
INSERT INTO b WITH (QUERY_ID = 'three') SELECT k, x FROM a EMIT CHANGES;
"""


@pytest.mark.parametrize(
    ("sql", "left", "paused"),
    [
        ("DROP STREAM B CASCADE;", [], []),
        ("TERMINATE TWO;", ["CSAS_B_0", "THREE"], []),
        ("PAUSE ALL;", ["CSAS_B_0", "TWO", "THREE"], ["CSAS_B_0", "TWO", "THREE"]),
    ],
)
def test_an_entry_is_not_lost_where_a_query_does_not_stop(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sql: str,
    left: list[str],
    paused: list[str],
) -> None:
    monkeypatch.setattr(manager, "STOP_SECONDS", 0.05)
    with Offline(data_folder(tmp_path, BEFORE)) as engine:
        queries, before = engine.state.queries, engine.state.catalog
        starting = list(queries.known())
        for query_id in starting:
            found = queries._queries[query_id]
            queries._queries[query_id] = replace(found, phase=Starting())
        effect = _followed(engine.state, "s").fold(Entry(9, sql))
        with pytest.raises(ExternalError, match="does not stop"):
            effect()
        assert engine.state.catalog is before
        for query_id in starting:
            queries._post(query_id, events.StartFailed(Failure("Spark was busy", False)))
            with suppress(ExternalError):
                effect()
        effect()
        known = queries.known()
        assert list(known) == left == list(engine.state.catalog.queries)
        assert [query_id for query_id in known if known[query_id].paused] == paused
