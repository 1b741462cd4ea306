"""SCRAM-SHA-256: the exchange of RFC 7677, and verifiers in the users file."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from streamsql.errors import ConfigError
from streamsql.roles import Role
from streamsql.users.accounts import Users, add_user, read_accounts
from streamsql.users.scram import (
    Exchange,
    LoginRefused,
    decoy,
    prepared,
    read_verifier,
    verifier_of,
)

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = f"r=rOprNGfwEbeRWgbNEkqO{NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
FINAL = f"c=biws,r=rOprNGfwEbeRWgbNEkqO{NONCE},p={PROOF}".encode()


def exchange() -> Exchange:
    return Exchange(verifier_of("pencil", SALT, 4096), NONCE)


def test_the_exchange_of_the_rfc() -> None:
    server = exchange()
    assert server.first(FIRST) == SERVER_FIRST
    assert server.final(FINAL) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    "final",
    [
        FINAL.replace(b"p=dHz", b"p=eHz"),
        FINAL.replace(b"c=biws", b"c=eSws"),
        FINAL.replace(b"hNlF", b"hNlG"),
        FINAL.replace(PROOF.encode(), b"dHzb"),
        FINAL.replace(PROOF.encode(), b"*"),
        b"",
        b"\xff",
    ],
)
def test_finals_that_are_refused(final: bytes) -> None:
    server = exchange()
    server.first(FIRST)
    with pytest.raises(LoginRefused):
        server.final(final)


@pytest.mark.parametrize(
    "first", [b"", b"n,,", b"p=tls-server-end-point,,n=,r=x", b"n,,n=x", b"\xff"]
)
def test_firsts_that_are_refused(first: bytes) -> None:
    with pytest.raises(LoginRefused):
        exchange().first(first)


def test_verifiers_are_written_and_read() -> None:
    verifier = verifier_of("a password", iterations=10)
    assert read_verifier(str(verifier)) == verifier
    assert "password" not in str(verifier)
    assert read_verifier("SCRAM-SHA-256$x:y$z:w") is None
    assert read_verifier("SCRAM-SHA-256$1:*$*:*") is None


def test_names_that_are_not_there_have_the_same_salt_each_time() -> None:
    assert decoy("ann", b"x").salt == decoy("ann", b"x").salt != decoy("bob", b"x").salt
    assert decoy("ann", b"x").stored_key != decoy("ann", b"x").stored_key


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("abc", "abc"),
        ("I\u00adX", "IX"),
        ("\u00aa", "a"),
        ("a\u00a0b", "a b"),
        ("\u0627\u0007", "\u0627\u0007"),
    ],
)
def test_saslprep(given: str, text: str) -> None:
    assert prepared(given) == text


def test_the_users_file_keeps_a_verifier(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "ann", Role.ADMIN, "secret")
    users = Users(path)
    verifier = users.verifier("ann")
    assert verifier == read_accounts(path)["ann"].verifier is not None
    assert users.log_in("ann", "secret") is not None
    assert users.verifier("nobody") is not None
    line = path.read_text().strip()
    path.write_text(line[: line.index(":SCRAM")] + "\n")
    assert Users(path).verifier("ann") is None, "a line of before has none"
    path.write_text(line + "x:y\n")
    with pytest.raises(ConfigError, match="malformed line of a user"):
        read_accounts(path)


def test_a_name_that_is_not_there_is_asked_as_one_that_is(tmp_path: Path) -> None:
    path = tmp_path / "users"
    for name in ("ann", "bob"):
        add_user(path, name, Role.READ_ONLY, "tea")
    strangers = [f"stranger{n}" for n in range(64)]

    def ways() -> set[bool]:
        users = Users(path)
        found = {name: users.verifier(name) is None for name in strangers}
        assert found == {name: users.verifier(name) is None for name in strangers}
        return set(found.values())

    assert ways() == {False}
    ann, bob = path.read_text("utf-8").splitlines()
    without = [line[: line.index(":SCRAM")] for line in (ann, bob)]
    path.write_text(f"{ann}\n{without[1]}\n")
    assert ways() == {False, True}
    path.write_text("\n".join(without))
    assert ways() == {True}
