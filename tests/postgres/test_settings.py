"""SET of a session: settings of PostgreSQL, of the engine, and of other stream engines."""

from __future__ import annotations

from typing import Any, cast

import pytest

from streamsql.errors import ConfigError
from streamsql.postgres.client import Client
from streamsql.postgres.errors import PgError
from streamsql.postgres.settings import PostgresConfig, Settings
from streamsql.properties import IMPLICIT_FLUSH
from streamsql.session import Session


@pytest.fixture
def client() -> Client:
    none = cast(Any, None)
    system = cast(Any, type("Nothing", (), {"takes": lambda self, text: False})())
    return Client(none, PostgresConfig(), none, system, "ann", Session(), Settings())


@pytest.mark.parametrize("name", ["rw_implicit_flush", "implicit_flush", IMPLICIT_FLUSH])
def test_implicit_flush_has_several_names(client: Client, name: str) -> None:
    assert client.set(name, "TRUE") is None
    assert client.session.properties == {IMPLICIT_FLUSH: "true"}
    client.set(name, None)
    assert client.session.properties == {}


@pytest.mark.parametrize("name", ["streaming_parallelism", "rw_streaming_enable_delta_join"])
def test_a_setting_of_another_engine_is_accepted_with_a_notice(client: Client, name: str) -> None:
    assert (
        client.set(name, "2") == f"{name} is a setting of another engine: it changes nothing here"
    )
    assert client.session.properties == {}


def test_an_unknown_setting_is_an_error(client: Client) -> None:
    with pytest.raises(PgError, match="unrecognized configuration parameter"):
        client.set("no_such_setting", "1")
    with pytest.raises(ConfigError):
        client.set(IMPLICIT_FLUSH, "sometimes")
