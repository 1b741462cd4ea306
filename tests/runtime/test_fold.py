"""Any history of statements, cut off anywhere and replayed any number of times, comes to the same:
the pure fold of its entries, in the engine and on disk.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from engine.offline import Offline
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamsql.catalog import Catalog
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.executor.queries.checkpoint import claim
from streamsql.log.entries import Entry, decode, encode, read_file
from streamsql.nodes import InsertInto, Statement
from streamsql.parser import parse, to_sql
from streamsql.planner.ddl.drops import DropPlan
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.planner.processing_log import declare
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import plan
from streamsql.runtime import replay as folding
from streamsql.runtime.replay import Replay

# -- histories -----------------------------------------------------------------------------------

STREAM = (
    "STREAM {0} (k INT KEY, x INT) WITH (KAFKA_TOPIC = '{1}', VALUE_FORMAT = 'JSON',"
    " PARTITIONS = 1);"
)
SELECT = "SELECT k, x + {2} AS x FROM {1} EMIT CHANGES;"
TEXTS = (
    f"CREATE {STREAM}",
    f"CREATE OR REPLACE {STREAM}",
    f"CREATE STREAM {{0}} AS {SELECT}",
    f"CREATE OR REPLACE STREAM {{0}} AS {SELECT}",
    f"CREATE OR REPLACE STREAM {{0}} WITH (KAFKA_TOPIC = '{{1}}') AS {SELECT}",
    "CREATE TABLE {0} AS SELECT k, COUNT(*) AS n FROM {1} GROUP BY k;",
    f"INSERT INTO {{0}} {SELECT}",
    f"INSERT INTO {{0}} WITH (QUERY_ID = 'q{{2}}') {SELECT}",
    "INSERT INTO {0} (k, x) VALUES (1, {2});",
    "DROP STREAM {0};",
    "DROP STREAM {0} CASCADE;",
    "DROP STREAM {0} DELETE TOPIC;",
    "DROP STREAM {0} CASCADE DELETE TOPIC;",
    "DROP TABLE {0} CASCADE DELETE TOPIC;",
    "TERMINATE q{2};",
    "TERMINATE CSAS_{0}_{2};",
    "TERMINATE ALL;",
    "PAUSE q{2};",
    "PAUSE ALL;",
    "RESUME q{2};",
    "CREATE OR REPLACE VIEW v AS SELECT k FROM {0};",
    "COMMENT ON STREAM {0} IS '{1}';",
    "ALTER STREAM {0} ADD COLUMN y{2} INT;",
    "CREATE SINK f{2} FROM {0} WITH (CONNECTION='FILE', PATH='/sink/{1}', FORMAT='JSON');",
    "DROP SINK f{2};",
    "CREATE SOURCE TABLE l (id INT PRIMARY KEY, y INT)"
    " WITH (CONNECTION='FILE', PATH='/rows/{2}.csv', FORMAT='CSV');",
    "INSERT INTO {0} WITH (QUERY_ID = 'q{2}') SELECT s.k, l.y AS x FROM {1} s"
    " JOIN l ON s.x = l.id;",
    "DROP TABLE l;",
    "CREATE TYPE t{2} AS STRUCT<x INT>;",
    "DROP TYPE IF EXISTS t{2};",
    "SET 'auto.offset.reset' = 'latest';",
    "UNSET 'auto.offset.reset';",
    "DEFINE d = '{2}';",
    "UNDEFINE d;",
)
NAMES = st.sampled_from(["a", "b", "c"])
LINES = st.builds(str.format, st.sampled_from(TEXTS), NAMES, NAMES, st.integers(0, 2))
REPLACING = "INSERT INTO {0} WITH (QUERY_ID = 'q{2}') SELECT k, x * {2} AS x FROM {1} EMIT CHANGES;"
"""As `apply` has it, where the query of the id runs."""
CHANGES = [*(text for text in TEXTS if text.startswith(("CREATE", "DROP", "ALTER"))), REPLACING]
TOGETHER = st.lists(
    st.builds(str.format, st.sampled_from(CHANGES), NAMES, st.just("a"), st.integers(0, 2)),
    min_size=3,
    max_size=6,
)
"""What one entry of the log has happen at once, as `apply` does."""
HISTORIES = st.lists(
    st.one_of(LINES.map(lambda line: [line]), TOGETHER), min_size=6, max_size=14
).map(lambda sets: [[TEXTS[0].format("a", "a")], [TEXTS[2].format("b", "a", 1)], *sets])


@cache
def _parsed(sql: str) -> tuple[Statement, ...]:
    return tuple(parse(sql))


@pytest.fixture(autouse=True, scope="module")
def _parse_once() -> object:
    """The same few statements come again and again, and parsing is not what is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "parse", _parsed)
        yield


@dataclass
class Engine:
    """What an engine does with statements: it logs those that can be planned, and no others."""

    replay: Replay = field(default_factory=lambda: fold([]))
    entries: list[Entry] = field(default_factory=list)
    checkpoints: set[tuple[str, int]] = field(default_factory=set)
    """Of all queries that there ever were, with their generations."""

    def run(self, texts: list[str]) -> None:
        """Statements in one entry; of several, those that can be planned one after the other."""
        number = len(self.entries) + 1
        parts = [part for sql in texts if (part := self._planned(sql, number, len(texts) > 1))]
        if not parts:
            return
        (entry,) = parts if len(parts) == 1 else [_together(parts)]
        self.entries.append(entry)

    def _planned(self, sql: str, number: int, together: bool) -> Entry | None:
        """The entry of a statement, which has taken effect; None where it cannot be planned."""
        (statement,) = _parsed(sql)
        properties = dict(self.replay.properties)
        rebuilds = together and "REPLACE" in sql and " AS SELECT" in sql
        inserting = together and isinstance(statement, InsertInto)
        inserts = str(statement.properties[0].value).upper() if inserting else None
        try:
            planned = plan(
                statement,
                self.replay.catalog,
                properties,
                RememberedTopics({}),
                query_id=inserts,
                rebuilds=rebuilds,
                replaces=inserts is not None,
            )
        except StreamSQLError:
            return None
        if isinstance(planned, NothingToDo):
            return None
        query = planned.query.query_id if isinstance(planned, QueryStatementPlan) else None
        if (rebuilds or inserts) and query not in self.replay.queries:
            return None  # `apply` takes no place of a query that does not run.
        deletes = {}
        if isinstance(planned, DropPlan) and planned.delete_topic:
            deletes = {planned.source.topic.name: f"id {number}"}
        text = to_sql(statement) + ";"
        entry = Entry(
            number,
            text,
            properties,
            query,
            version="1",
            deletes=deletes,
            rebuilds=rebuilds,
            replaces=inserts is not None,
        )
        self.replay.add(entry)
        if query is not None:
            generation = self.replay.queries[query].definition.generation
            self.checkpoints.add((query, generation))
        return entry


def _together(parts: list[Entry]) -> Entry:
    sql = "\n".join(part.sql for part in parts)
    return Entry(parts[0].sequence, sql, version="1", parts=tuple(parts))


def fold(entries: list[Entry]) -> Replay:
    replay = Replay(Catalog())
    declare(replay.catalog)
    for entry in entries:
        for statement in entry.statements:
            replay.add(statement)
    return replay


def lived(history: list[list[str]]) -> Engine:
    engine = Engine()
    for texts in history:
        engine.run(texts)
    return engine


quick = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


# -- the pure fold -------------------------------------------------------------------------------


@quick
@given(history=HISTORIES)
def test_a_replay_comes_to_what_was_lived_through(history: list[list[str]]) -> None:
    engine = lived(history)
    written = [decode(encode(entry), "it") for entry in engine.entries]
    assert written == engine.entries
    assert fold(written) == engine.replay == fold(engine.entries)
    assert set(engine.replay.queries) == set(engine.replay.catalog.queries)


# -- an engine on a folder -----------------------------------------------------------------------


@quick
@given(history=HISTORIES, data=st.data())
def test_a_start_after_any_crash_comes_to_the_fold(
    history: list[list[str]], data: st.DataObject, tmp_path: Path
) -> None:
    """The log cut off in the midst of a line; on disk checkpoints of queries that ever were."""
    engine = lived(history)
    folder = tmp_path / "engine"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "checkpoints").mkdir(parents=True)
    log = b"".join(encode(entry) + b"\n" for entry in engine.entries)
    (folder / "statements.log").write_bytes(log[: data.draw(st.integers(0, len(log)))])
    expected = fold(read_file(folder / "statements.log"))
    present = dict(sorted(data.draw(st.sets(st.sampled_from(sorted(engine.checkpoints))))))
    for query, generation in present.items():
        claim(folder / "checkpoints" / query, generation)
    wanted = {(q, known.definition.generation) for q, known in expected.queries.items()}
    for _ in range(2):
        with Offline(folder) as again:
            state = again.state
            assert state.catalog == expected.catalog
            assert state.queries.known() == expected.queries
            assert state.session.properties == expected.properties
            assert state.session.variables == expected.variables
            assert state.deletions == expected.deletions
        assert _checkpoints(folder / "checkpoints") == {q for q, _ in wanted & set(present.items())}


def _checkpoints(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def test_a_setting_that_an_earlier_version_allowed_is_replayed(tmp_path: Path) -> None:
    sql = "SET 'streamsql.shuffle.partitions' = '5000';"
    (tmp_path / "statements.log").write_bytes(encode(Entry(1, sql, version="0.1.0")) + b"\n")
    with Offline(tmp_path) as engine:
        assert engine.state.session.properties == {"streamsql.shuffle.partitions": "5000"}
        with pytest.raises(ConfigError, match="Invalid value '5000'"):
            engine.run(sql)
