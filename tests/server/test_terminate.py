"""POST /ksql/terminate: what it runs, in which order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine.offline import Offline
from server.offline_server import OfflineRunner

from streamsql.server.endpoints.terminate import _patterns, _statements
from streamsql.server.http.errors import RequestError


def test_what_reads_goes_first_and_topics_only_where_a_query_made_them(tmp_path: Path) -> None:
    runner = OfflineRunner(Offline(tmp_path))
    with runner.offline:
        runner.given(
            """
            CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
            CREATE TABLE "Sums" AS SELECT k, SUM(v) AS v FROM s GROUP BY k;
            CREATE STREAM c AS SELECT * FROM s;
            CREATE VIEW w AS SELECT * FROM c;
            """
        )
        found = list(_statements(runner.inspection, [re.compile("S.*")]))
    assert found == [
        "TERMINATE ALL;",
        "DROP VIEW IF EXISTS `W` CASCADE;",
        "DROP STREAM IF EXISTS `C`;",
        "DROP TABLE IF EXISTS `Sums` DELETE TOPIC;",
        "DROP STREAM IF EXISTS `S`;",
    ]


@pytest.mark.parametrize("given", ["a", [1], ["("]])
def test_patterns_that_are_none(given: object) -> None:
    with pytest.raises(RequestError, match="deleteTopicList"):
        _patterns(given)


def test_no_patterns() -> None:
    assert _patterns(None) == []
