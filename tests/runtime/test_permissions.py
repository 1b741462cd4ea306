"""What each role may do."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.offline import Offline
from planner.plan_script import Script

from streamsql.api.applying import Changes
from streamsql.config import EngineConfig
from streamsql.errors import ForbiddenError
from streamsql.parser import parse
from streamsql.planner.permissions import check, check_plan, needed
from streamsql.properties import (
    SCHEMA_REGISTRY_URL,
    SCHEMA_REGISTRY_USER,
    forget_credentials,
    schema_registry,
    with_owned_secrets,
    without_owned_secrets,
)
from streamsql.roles import Role, acting_as, allowed_by_role, current_role
from streamsql.run_script import NamedText
from streamsql.session import Session

READ, WRITE, ADMIN = Role.READ_ONLY, Role.DEVELOPER, Role.ADMIN


@pytest.mark.parametrize(
    ("sql", "role"),
    [
        ("SELECT * FROM s EMIT CHANGES;", READ),
        ("SELECT * FROM t WHERE k = 1;", READ),
        ("SHOW QUERIES EXTENDED;", READ),
        ("EXPLAIN SELECT * FROM s EMIT CHANGES;", READ),
        ("SET 'auto.offset.reset' = 'latest';", READ),
        ("PRINT 'orders';", READ),
        ("INSERT INTO s (a) VALUES (1);", WRITE),
        ("CREATE TABLE t AS SELECT a, COUNT(*) FROM s GROUP BY a;", WRITE),
        ("DROP STREAM s DELETE TOPIC;", WRITE),
        ("TERMINATE ALL;", WRITE),
        ("DROP SINK f;", WRITE),
        ("CREATE SINK f FROM s WITH (CONNECTION='FILE', PATH='/data');", ADMIN),
        ("CREATE SINK CONNECTOR c WITH ('a'='b');", ADMIN),
        ("CREATE TABLE t WITH (CONNECTION='postgres', URL='postgres://u@h/d', TABLE='t');", ADMIN),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'def f(x): return x';", ADMIN),
        ("SET 'ksql.schema.registry.url' = 'http://elsewhere:8081';", ADMIN),
        ("SET 'schema.registry.url' = 'http://elsewhere:8081';", ADMIN),
        ("ALTER SYSTEM 'a' = 'b';", ADMIN),
        ("CREATE SOURCE TABLE t (k INT PRIMARY KEY) WITH (kafka_topic='t');", WRITE),
    ],
)
def test_what_a_statement_needs(sql: str, role: Role) -> None:
    (statement,) = parse(sql)
    assert needed(statement) is role
    for own in Role:
        session = Session(role=own)
        if own.may(role):
            check(statement, session)
        else:
            with pytest.raises(ForbiddenError, match=f"requires the role {role.value}"):
                check(statement, session)
    check(statement, Session())


@pytest.mark.parametrize(
    ("sql", "role"),
    [
        ("CREATE STREAM x AS SELECT * FROM clicks;", WRITE),
        ("CREATE SINK f FROM clicks WITH (CONNECTION='FILE', PATH='/data', FORMAT='JSON');", ADMIN),
        (
            "CREATE SOURCE TABLE t (k INT PRIMARY KEY, v INT)"
            " WITH (connection='file', path='/data', format='json');",
            ADMIN,
        ),
        (
            "CREATE TABLE t (k INT PRIMARY KEY, v INT)"
            " WITH (CONNECTION='POSTGRES', URL='postgres://u@h/d', TABLE='t');",
            ADMIN,
        ),
        ("CREATE SINK CONNECTOR c WITH ('a'='b');", ADMIN),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'x';", ADMIN),
        ("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'x'; DROP FUNCTION f;", ADMIN),
    ],
)
def test_what_a_plan_needs(sql: str, role: Role) -> None:
    *_, statement = parse(sql)
    planned = Script().run(sql)
    for own in Role:
        session = Session(role=own)
        if own.may(role) or not role.may(ADMIN):
            check_plan(statement, planned, session)
        else:
            with pytest.raises(ForbiddenError, match=f"requires the role {role.value}"):
                check_plan(statement, planned, session)
    check_plan(statement, planned, Session())


def test_a_lookup_table_is_planned_for_an_admin_alone(tmp_path: Path) -> None:
    sql = (
        "CREATE SOURCE TABLE t (k INT PRIMARY KEY, v INT)"
        " WITH (connection='file', path='/data', format='json');"
    )
    with Offline(tmp_path) as offline:
        with pytest.raises(ForbiddenError, match="requires the role admin"):
            offline.run(sql, Session(role=WRITE))
        with pytest.raises(ForbiddenError, match="requires the role admin"):
            texts = [NamedText("f.sql", sql)]
            Changes(offline.state).apply(texts, session=Session(role=WRITE))
        offline.run(sql, Session(role=ADMIN))


def test_a_role_holds_for_a_request() -> None:
    assert current_role() is None and allowed_by_role(ADMIN)
    with acting_as(WRITE):
        assert Session().role is WRITE
        assert allowed_by_role(READ) and allowed_by_role(WRITE) and not allowed_by_role(ADMIN)
        with acting_as(READ):
            assert Session().role is READ
        assert Session().role is WRITE
    assert Session().role is None


def test_credentials_are_for_the_system_that_they_were_given_for() -> None:
    owned = {SCHEMA_REGISTRY_URL: "http://ours", SCHEMA_REGISTRY_USER: "me:pass"}
    same = dict(owned)
    forget_credentials(SCHEMA_REGISTRY_URL, same, owned)
    assert same == owned
    other = {**owned, SCHEMA_REGISTRY_URL: "http://theirs"}
    forget_credentials(SCHEMA_REGISTRY_URL, other, owned)
    assert other == {SCHEMA_REGISTRY_URL: "http://theirs"}
    own_ones = {SCHEMA_REGISTRY_URL: "http://theirs", SCHEMA_REGISTRY_USER: "you:word"}
    forget_credentials(SCHEMA_REGISTRY_URL, own_ones, owned)
    assert own_ones[SCHEMA_REGISTRY_USER] == "you:word"
    forget_credentials(SCHEMA_REGISTRY_URL, owned, owned)
    assert owned[SCHEMA_REGISTRY_USER] == "me:pass"


def test_a_clients_secret_is_for_its_token_endpoint() -> None:
    owned = {
        SCHEMA_REGISTRY_URL: "http://ours",
        schema_registry.ISSUER_URL: "http://issuer",
        schema_registry.CLIENT_ID: "me",
        schema_registry.CLIENT_SECRET: "secret",
        schema_registry.CERTIFICATE: "/me.pem",
    }
    for changed in (SCHEMA_REGISTRY_URL, schema_registry.ISSUER_URL):
        other = {**owned, changed: "http://theirs"}
        forget_credentials(changed, other, owned)
        assert schema_registry.CLIENT_SECRET not in other
        assert (schema_registry.CERTIFICATE in other) == (changed != SCHEMA_REGISTRY_URL)
        assert with_owned_secrets(other, owned) == other
    logged = without_owned_secrets(owned, owned)
    assert schema_registry.CLIENT_SECRET not in logged
    assert with_owned_secrets(logged, owned) == owned


def test_only_an_admin_names_files_of_the_server() -> None:
    for name in (schema_registry.CA, schema_registry.KEY, schema_registry.ISSUER_URL):
        assert needed(parse(f"SET '{name}' = '/etc/x';")[0]) is Role.ADMIN
    assert needed(parse(f"SET '{SCHEMA_REGISTRY_USER}' = 'a:b';")[0]) is not Role.ADMIN


def test_the_configuration_of_each_server_is_not_logged() -> None:
    owned = {SCHEMA_REGISTRY_URL: "http://ours", SCHEMA_REGISTRY_USER: "me:pass"}
    assert without_owned_secrets(owned, owned) == {SCHEMA_REGISTRY_URL: "http://ours"}
    own_ones = {**owned, SCHEMA_REGISTRY_USER: "you:word"}
    assert without_owned_secrets(own_ones, owned) == own_ones
    assert without_owned_secrets(owned, {}) == owned


def test_nor_is_the_configuration_of_a_lone_engine(tmp_path: Path) -> None:
    given = {SCHEMA_REGISTRY_URL: "http://ours", SCHEMA_REGISTRY_USER: "me:secret"}
    with Offline(
        tmp_path, config=EngineConfig(tmp_path, "127.0.0.1:1", properties=given)
    ) as engine:
        engine.run("CREATE TYPE a AS INT;")
        Changes(engine.state).apply([NamedText("f.sql", "CREATE TYPE b AS INT;")])
        (first, second) = engine.state.log.entries
        assert (
            first.properties == {SCHEMA_REGISTRY_URL: "http://ours"} == second.parts[0].properties
        )
    assert b"me:secret" not in (tmp_path / "statements.log").read_bytes()
