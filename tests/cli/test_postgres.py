"""Where `streamsql server --postgres` listens, and what it says of that."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from streamsql.cli.subcommands.postgres import postgres_address, warn_if_open
from streamsql.errors import ConfigError
from streamsql.server.settings.config import ServerConfig


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("5433", ("127.0.0.1", 5433)),
        ("localhost:5433", ("localhost", 5433)),
        (":5433", ("0.0.0.0", 5433)),
        ("[::1]:5433", ("::1", 5433)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert postgres_address(text) == address


@pytest.mark.parametrize("text", ["localhost", "http://localhost:5433", "localhost:port"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an address"):
        postgres_address(text)


def test_who_lets_everybody_in_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_if_open("5433", ServerConfig())
        warn_if_open("0.0.0.0:5433", ServerConfig(users_file=Path("users")))
        assert not caplog.records
        warn_if_open("0.0.0.0:5433", ServerConfig())
    assert "everybody who reaches 0.0.0.0:5433 may do everything" in caplog.text
