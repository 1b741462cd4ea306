"""Logging in: SCRAM, passwords over TLS, TLS, roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import trustme
from postgres.raw import Raw, message, startup
from postgres.stand_in import StandIn, listening

from streamsql.postgres.login import is_private
from streamsql.postgres.settings import PostgresConfig
from streamsql.roles import Role
from streamsql.users.accounts import Users, add_user


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A port with TLS and users: ann is an admin, bob reads and has no verifier."""
    folder = tmp_path_factory.mktemp("login")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    path = folder / "users"
    add_user(path, "ann", Role.ADMIN, "sécret")
    add_user(path, "bob", Role.READ_ONLY, "hidden")
    ann, bob = path.read_text("utf-8").splitlines()
    path.write_text(f"{ann}\n{bob[: bob.index(':SCRAM')]}\n")
    engine = StandIn(folder / "data")
    config = PostgresConfig(tls_cert=folder / "cert.pem", tls_key=folder / "key.pem")
    try:
        with listening(engine, config, Users(path)) as port:
            yield port, folder
    finally:
        engine.close()


def connect(secured: tuple[int, Path], user: str, password: str, **more: str) -> psycopg.Connection:
    port, folder = secured
    return psycopg.connect(
        host="127.0.0.1",
        port=port,
        user=user,
        password=password,
        sslmode="verify-full",
        sslrootcert=str(folder / "ca.pem"),
        autocommit=True,
        **more,
    )


@pytest.mark.parametrize(("user", "password"), [("ann", "sécret"), ("bob", "hidden")])
def test_users_are_let_in(secured: tuple[int, Path], user: str, password: str) -> None:
    with connect(secured, user, password) as connection:
        assert connection.info.pgconn.ssl_in_use
        assert connection.execute("SELECT current_user").fetchone() == (user,)


def test_passwords_may_be_scrams_alone(secured: tuple[int, Path]) -> None:
    with connect(secured, "ann", "sécret", require_auth="scram-sha-256"):
        pass
    with pytest.raises(psycopg.OperationalError, match="authentication method requirement"):
        connect(secured, "bob", "hidden", require_auth="scram-sha-256")


def test_roles_hold(secured: tuple[int, Path]) -> None:
    with connect(secured, "bob", "hidden") as connection:
        assert len(connection.execute("SELECT n FROM readings").fetchall()) == 2
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            connection.execute("DROP STREAM `Mixed`")
        assert "your role is read-only" in str(caught.value)
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege),
            connection.cursor().copy("COPY readings (n) FROM STDIN") as copy,
        ):
            copy.write("1\n")


@pytest.mark.parametrize(("user", "password"), [("ann", "x"), ("bob", "x"), ("eve", "x")])
def test_others_are_not(secured: tuple[int, Path], user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(secured, user, password)


def test_guesses_are_slowed_down(tmp_path: Path) -> None:
    add_user(tmp_path / "users", "ann", Role.ADMIN, "secret")
    engine = StandIn(tmp_path / "data")
    try:
        with listening(engine, users=Users(tmp_path / "users")) as port:
            for _ in range(10):
                with Raw(port, start=False) as raw:
                    raw.send(startup("ann"), message(b"p", b"SCRAM-SHA-256\0\0\0\0\0"))
                    assert b"C28P01" in raw.until(b"E")[-1][1]
            with pytest.raises(psycopg.OperationalError, match="too many failed logins"):
                psycopg.connect(f"host=127.0.0.1 port={port} user=ann password=secret")
    finally:
        engine.close()


def test_where_a_password_may_travel() -> None:
    assert is_private("127.0.0.1", False) and is_private("::1", False)
    assert is_private("10.0.0.1", True) and not is_private("10.0.0.1", False)
    assert not is_private("unknown", False)


def test_without_a_certificate_tls_is_declined(tmp_path: Path) -> None:
    engine = StandIn(tmp_path)
    try:
        with listening(engine) as port:
            where = f"host=127.0.0.1 port={port} user=ann"
            with psycopg.connect(f"{where} sslmode=prefer") as connection:
                assert not connection.info.pgconn.ssl_in_use
            with pytest.raises(psycopg.OperationalError, match="SSL"):
                psycopg.connect(f"{where} sslmode=require")
    finally:
        engine.close()
