"""What may be known of a statement that has been parsed."""

from __future__ import annotations

from streamsql.api.script import PreparedStatement, parse_script
from streamsql.schema import Kind
from streamsql.server.entities.commands import command_id
from streamsql.session import Session


def one(sql: str) -> PreparedStatement:
    (statement,) = parse_script(sql, Session()).statements
    return statement


def test_what_is_logged_has_a_command_id() -> None:
    ids = {
        "CREATE STREAM s (a INT) WITH (kafka_topic='t', value_format='json');": "stream/S/create",
        "CREATE TABLE t AS SELECT a, COUNT(*) FROM s GROUP BY a;": "table/T/create",
        "INSERT INTO s SELECT * FROM a;": "stream/S/create",
        "ALTER TABLE t ADD COLUMN b INT;": "table/T/alter",
        "DROP STREAM s;": "stream/S/drop",
        "CREATE TYPE a AS INT;": "type/A/create",
        "DROP VIEW v;": "view/V/drop",
        "DROP FUNCTION f;": "function/F/drop",
        "TERMINATE ALL;": "terminate/ALL/execute",
        "SHOW STREAMS;": None,
        "SET 'a' = 'b';": None,
    }
    assert {sql: command_id(one(sql)) for sql in ids} == ids


def test_what_statements_are_about() -> None:
    drop = one("DROP TABLE `t` DELETE TOPIC;")
    assert (drop.kind, drop.name, drop.source_kind) == ("DropSource", "t", Kind.TABLE)
    assert (drop.text, drop.is_query) == ("DROP TABLE `t` DELETE TOPIC", False)
    assert one("INSERT INTO s SELECT * FROM a;").name == "S"
    assert (one("PAUSE q_1;").name, one("PAUSE q_1;").action) == ("Q_1", "PAUSE")
    assert one("TERMINATE ALL;").name is None
    assert (one("LIST ALL TOPICS EXTENDED;").lists, one("SHOW TYPES;").name) == ("ALL TOPICS", None)
    assert one("SHOW TOPICS EXTENDED;").extended and not one("SHOW TOPICS;").extended
    asserted = one("ASSERT NOT EXISTS SCHEMA SUBJECT 's' ID 3;")
    assert (asserted.name, asserted.schema_id, asserted.exists) == ("s", 3, False)
    explained = one("EXPLAIN SELECT * FROM s EMIT CHANGES;").explained
    assert explained is not None and explained.text == "SELECT * FROM s EMIT CHANGES"
    assert one("EXPLAIN q_1;").explained is None and one("EXPLAIN q_1;").name == "Q_1"


def test_which_rows_keep_coming() -> None:
    goes_on = {
        "SELECT * FROM t;": False,
        "SELECT * FROM t EMIT CHANGES;": True,
        "PRINT t LIMIT 1;": True,
        "SHOW STREAMS;": False,
    }
    assert {sql: one(sql).continuous for sql in goes_on} == goes_on
    assert [one(sql).is_query for sql in goes_on] == [True, True, True, False]


def test_a_script_knows_its_variables() -> None:
    session = Session(variables={"A": "1"})
    sql = "DEFINE b = 'x'; DROP STREAM ${b}; UNDEFINE b; SELECT ${a} FROM t; DROP STREAM ${b};"
    script = parse_script(sql, session)
    assert [s.name for s in script.statements] == ["B", "X", "B", None]
    assert script.error is not None and "variable b is not defined" in str(script.error)
    assert script.wrong == "DROP STREAM ${b};" and session.variables == {"A": "1"}


def test_a_script_ends_before_what_is_wrong() -> None:
    script = parse_script("SHOW STREAMS; SHWO; SHOW TABLES;", Session())
    assert [s.lists for s in script.statements] == ["STREAMS"]
    assert script.error is not None and script.error.span is not None
    assert (script.error.span.column, script.wrong) == (15, "SHWO;")
