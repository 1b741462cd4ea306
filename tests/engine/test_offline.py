"""Statements that need neither Kafka nor Spark, and how they come back after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.offline import Offline, texts

from streamsql.config import EngineConfig
from streamsql.errors import (
    BindError,
    CatalogError,
    ConfigError,
    InternalError,
    ParseError,
    UnsupportedError,
)
from streamsql.executor.queries.manager import QueryManager
from streamsql.nodes import ControlQuery, QueryAction
from streamsql.planner.ddl.control import ControlPlan
from streamsql.results import Rows
from streamsql.runtime import state as engine_state
from streamsql.runtime.state import Context
from streamsql.session import Session
from streamsql.statements import execute


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Offline]:
    with Offline(tmp_path) as engine:
        yield engine


def test_the_processing_log_is_there_from_the_start(engine: Offline) -> None:
    assert engine.texts("SHOW STREAMS;") == [
        "KSQL_PROCESSING_LOG | streamsql_processing_log | KAFKA | JSON | False"
    ]
    columns = engine.texts("DESCRIBE ksql_processing_log;")
    assert [c.split(" | ")[0] for c in columns] == [
        "LOGGER",
        "LEVEL",
        "TIME",
        "MESSAGE",
        "QUERYID",
        "TOPIC",
        "PARTITION",
        "OFFSET",
    ]
    assert engine.texts("SHOW TABLES; SHOW QUERIES; SHOW TYPES; SHOW VARIABLES;") == []


def test_a_comment_is_described_and_comes_back(tmp_path: Path) -> None:
    def title(engine: Offline) -> str | None:
        rows = engine.run("DESCRIBE ksql_processing_log;")[0]
        assert isinstance(rows, Rows)
        return rows.title

    with Offline(tmp_path) as engine:
        said = engine.texts("COMMENT ON STREAM ksql_processing_log IS 'What went wrong.';")
        assert said == ["Comment set on stream KSQL_PROCESSING_LOG."]
    with Offline(tmp_path) as engine:
        assert title(engine) == "Name : KSQL_PROCESSING_LOG\nWhat went wrong."
        engine.run("COMMENT ON STREAM ksql_processing_log IS NULL;")
        assert title(engine) == "Name : KSQL_PROCESSING_LOG"


def test_set_and_unset(engine: Offline) -> None:
    assert engine.texts("SET 'auto.offset.reset' = 'LATEST';") == [
        "Successfully changed local property 'auto.offset.reset' to 'latest'."
    ]
    assert engine.texts("SET 'ksql.streams.auto.offset.reset' = 'earliest';") == [
        "Successfully changed local property 'auto.offset.reset' from 'latest' to 'earliest'."
    ]
    shown = engine.texts("SHOW PROPERTIES;")
    assert any(line.startswith("auto.offset.reset | earliest | earliest |") for line in shown)
    assert engine.texts("UNSET 'auto.offset.reset';") == [
        "Successfully unset local property 'auto.offset.reset' (value was earliest)."
    ]
    assert engine.texts("UNSET 'auto.offset.reset';") == ["'auto.offset.reset' was not set."]


def test_passwords_are_not_shown(engine: Offline) -> None:
    name = "ksql.connect.basic.auth.user.info"
    lines = engine.texts(f"SET '{name}' = 'ann:sesame'; SHOW PROPERTIES;")
    assert lines[0] == f"Successfully changed local property '{name}' to '[hidden]'."
    assert any(line.startswith(f"{name} | [hidden] | [hidden] | ") for line in lines)
    lines += engine.texts(f"SET '{name}' = 'ann:open it'; UNSET '{name}'; SHOW PROPERTIES;")
    assert not any("sesame" in line or "open it" in line for line in lines)
    assert any(line.startswith(f"{name} |  |  | ") for line in lines)


def test_a_property_that_does_not_exist(engine: Offline) -> None:
    with pytest.raises(ConfigError) as raised:
        engine.run("SET 'auto.ofset.reset' = 'latest';")
    assert raised.value.hint == "Did you mean auto.offset.reset?"


def test_sizes_are_shown_and_those_of_the_engine_stay(tmp_path: Path) -> None:
    properties = {"streamsql.heap.mb": "700", "STREAMSQL.shuffle.partitions": "5"}
    config = EngineConfig(tmp_path, "127.0.0.1:1", properties=properties)
    with Offline(tmp_path, config=config) as engine:
        lines = engine.texts("SHOW PROPERTIES;")
        shown = {cells[0]: cells[1:3] for cells in (line.split(" | ") for line in lines)}
        assert shown["streamsql.heap.mb"] == ["700", "700"]
        assert shown["streamsql.table.memory.mb"] == ["", "175"]
        assert shown["streamsql.records.per.batch"] == ["", "700000"]
        assert shown["streamsql.shuffle.partitions"] == ["5", "5"]
        assert "streamsql.heap.mb" not in engine.state.session.properties
        for change in ("SET 'streamsql.heap.mb' = '800';", "UNSET 'streamsql.heap.mb';"):
            with pytest.raises(ConfigError, match="cannot be changed while the engine runs"):
                engine.run(change)


def test_an_engine_is_not_started_with_a_property_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Not recognizable"):
        Offline(tmp_path, config=EngineConfig(tmp_path, properties={"streamsql.hep.mb": "1"}))


def test_variables(engine: Offline) -> None:
    assert engine.texts("DEFINE stream = 'KSQL_PROCESSING_LOG'; SHOW VARIABLES;") == [
        "Variable STREAM defined.",
        "STREAM | KSQL_PROCESSING_LOG",
    ]
    assert engine.texts("DESCRIBE ${stream};")[0] == "LOGGER | STRING"
    assert engine.texts("UNDEFINE stream; UNDEFINE stream;") == [
        "Variable STREAM undefined.",
        "Cannot undefine variable 'STREAM' which was never defined",
    ]


def test_types(engine: Offline) -> None:
    assert engine.texts("CREATE TYPE address AS STRUCT<street STRING, no INT>;") == [
        "Registered custom type with name 'ADDRESS' and SQL type "
        "STRUCT<`STREET` STRING, `NO` INTEGER>"
    ]
    assert engine.texts("SHOW TYPES;") == ["ADDRESS | STRUCT<`STREET` STRING, `NO` INTEGER>"]
    with pytest.raises(CatalogError):
        engine.run("CREATE TYPE address AS INT;")
    assert engine.texts("DROP TYPE address;") == ["Dropped type 'ADDRESS'"]
    assert len(engine.run("DROP TYPE IF EXISTS address;")) == 1


def test_functions(engine: Offline) -> None:
    shown = engine.texts("SHOW FUNCTIONS;")
    assert any(line.startswith("COUNT | AGGREGATE |") for line in shown)
    described = engine.texts("DESCRIBE FUNCTION count;")
    assert described[:2] == ["Name        : COUNT", "Type        : AGGREGATE"]
    with pytest.raises(BindError):
        engine.run("DESCRIBE FUNCTION cuont;")


def test_explain_needs_no_spark(engine: Offline) -> None:
    lines = engine.texts("EXPLAIN SELECT logger FROM ksql_processing_log EMIT CHANGES;")
    assert any(line.startswith("Mode: real-time") for line in lines)
    lines = engine.texts("EXPLAIN SELECT logger FROM ksql_processing_log ORDER BY logger LIMIT 2;")
    assert any(line.startswith("Answered by: Spark's batch engine") for line in lines)
    with pytest.raises(BindError, match="Unknown queryId: CSAS_NO_1"):
        engine.run("EXPLAIN CSAS_NO_1;")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("ALTER SYSTEM 'a' = 'b';", "ALTER SYSTEM is not supported"),
    ],
)
def test_not_supported(engine: Offline, sql: str, message: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        engine.run(sql)
    assert raised.value.message == message
    assert raised.value.hint and raised.value.span


def test_terminate_of_an_unknown_query(engine: Offline) -> None:
    with pytest.raises(BindError, match="Unknown queryId: CSAS_X_1"):
        engine.run("TERMINATE csas_x_1;")
    assert engine.texts("TERMINATE ALL;") == ["There are no queries."]


def test_a_script_runs_in_the_session(engine: Offline, tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text("DEFINE a = 'b';\nSHOW VARIABLES;")
    assert engine.texts(f"RUN SCRIPT '{script}';") == ["Variable A defined.", "A | b"]


def test_statements_before_an_error_have_taken_effect(engine: Offline) -> None:
    with pytest.raises(ParseError):
        engine.run("DEFINE a = 'b'; SHOW NOTHING; DEFINE c = 'd';")
    assert engine.texts("SHOW VARIABLES;") == ["A | b"]


def test_the_session_comes_back(tmp_path: Path) -> None:
    with Offline(tmp_path) as engine:
        engine.run(
            "SET 'auto.offset.reset' = 'latest'; SET 'processing.mode' = 'microbatch';"
            "UNSET 'processing.mode'; DEFINE a = 'x''y'; DEFINE b = 'ü'; UNDEFINE b;"
            "CREATE TYPE point AS STRUCT<x DOUBLE, y DOUBLE>; CREATE TYPE gone AS INT;"
            "DROP TYPE gone;"
        )
        other = Session()
        engine.run("SET 'processing.mode' = 'realtime'; DEFINE mine = 'only';", other)
    with Offline(tmp_path) as engine:
        assert engine.state.session.properties == {"auto.offset.reset": "latest"}
        assert engine.state.session.variables == {"A": "x'y"}
        assert engine.texts("SHOW TYPES;") == ["POINT | STRUCT<`X` DOUBLE, `Y` DOUBLE>"]


def test_a_log_that_cannot_be_replayed_says_so(tmp_path: Path) -> None:
    with Offline(tmp_path) as engine:
        engine.run("CREATE TYPE point AS INT;")
    log = tmp_path / "statements.log"
    log.write_text(log.read_text() * 2)
    with pytest.raises(InternalError, match="cannot replay entry 1") as raised:
        Offline(tmp_path)
    assert "CREATE TYPE POINT AS INTEGER;" in str(raised.value.detail)


def test_functions_of_users_come_back(tmp_path: Path) -> None:
    twice = "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS 'x * 2';"
    with Offline(tmp_path) as engine:
        assert engine.texts(twice) == ["Function TWICE created"]
        with pytest.raises(ConfigError, match="unknown Python module nowhere_at_all"):
            engine.run("CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS 'nowhere_at_all:f';")
    with Offline(tmp_path) as engine:
        shown = engine.texts("SHOW FUNCTIONS;")
        assert "TWICE | SCALAR | user | A function written in Python." in shown
        text = "\n".join(engine.texts("DESCRIBE FUNCTION twice;"))
        assert "TWICE(BIGINT x)" in text and "LANGUAGE PYTHON AS 'x * 2'" in text
        assert engine.texts("DROP FUNCTION twice;") == ["Function TWICE was dropped."]
        with pytest.raises(BindError):
            engine.run("DESCRIBE FUNCTION twice;")


def test_views_come_back(tmp_path: Path) -> None:
    with Offline(tmp_path) as engine:
        engine.run(
            "CREATE VIEW errors AS SELECT logger FROM ksql_processing_log WHERE level = 'ERROR';"
            "CREATE VIEW few AS SELECT * FROM errors; CREATE VIEW gone AS SELECT * FROM errors;"
            "DROP VIEW gone;"
        )
    with Offline(tmp_path) as engine:
        names = [line.partition(" | ")[0] for line in engine.texts("SHOW VIEWS;")]
        assert names == ["ERRORS", "FEW"]
        assert engine.texts("DESCRIBE few;") == ["LOGGER | STRING"]
        assert engine.texts("DROP VIEW errors CASCADE;") == [
            "View `ERRORS` was dropped.",
            "View `FEW` was dropped.",
        ]


def test_pause_all_reaches_every_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though one of them does not stop in time."""
    asked: list[str] = []

    def pause(manager: QueryManager, *query_ids: str, waits: bool = True) -> list[str]:
        asked.extend(query_ids)
        return []

    monkeypatch.setattr(QueryManager, "pause", pause)
    monkeypatch.setattr(QueryManager, "unsettled", lambda _, *query_ids: list(query_ids[:1]))
    with Offline(tmp_path) as engine:
        context = engine.context()
        plan = ControlPlan(QueryAction.PAUSE, ("Q", "R", "S"))
        monkeypatch.setattr(Context, "plan", lambda *_: plan)
        monkeypatch.setattr(Context, "commit", lambda *_, **__: None)
        statement = ControlQuery(action=QueryAction.PAUSE, query_id=None)
        said = texts(execute(statement, context))
    assert asked == ["Q", "R", "S"]
    assert said == [
        *(f"Query {name} paused." for name in asked),
        "Query Q is still stopping and may read and write until then.",
    ]


def test_what_cannot_be_applied_is_never_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no start could replay the log any more."""

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    with Offline(tmp_path) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(engine_state, "apply", broken)
            with pytest.raises(RuntimeError, match="a bug"):
                engine.run("CREATE TYPE point AS INT;")
        assert not engine.state.log.entries and not engine.state.catalog.types
        engine.run("CREATE TYPE point AS INT;")
    with Offline(tmp_path) as engine:
        assert engine.texts("SHOW TYPES;") == ["POINT | INTEGER"]
