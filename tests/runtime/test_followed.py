"""An engine that follows a log: an entry whose queries do not stop takes effect later, whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from engine.offline import Offline

from streamsql.errors import ExternalError
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.queries.persistent_query import PersistentQuery
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
    unsettled, tries = QueryManager._unsettled, iter([0, 1])

    def some(manager: QueryManager, queries: Sequence[PersistentQuery]) -> list[str]:
        """Of the queries asked to stop only the first one does, then only the second."""
        try:
            stops = next(tries)
        except StopIteration:
            return unsettled(manager, list(queries))
        unsettled(manager, list(queries[stops : stops + 1]))
        return [q.id for q in queries if q not in queries[stops : stops + 1]] or ["Q"]

    with Offline(data_folder(tmp_path, BEFORE)) as engine:
        monkeypatch.setattr(QueryManager, "_unsettled", some)
        before = engine.state.catalog
        effect = _followed(engine.state, "service").fold(Entry(9, sql))
        with pytest.raises(ExternalError, match="does not stop"):
            effect()
        assert engine.state.catalog is before
        with suppress(ExternalError):
            effect()
        effect()
        known = engine.state.queries.known()
        assert list(known) == left == list(engine.state.catalog.queries)
        assert [query_id for query_id in known if known[query_id].paused] == paused
