"""Where `streamsql server --postgres` and the shell listen, and what they say of that."""

from __future__ import annotations

import logging
from pathlib import Path

import psycopg
import pytest

from streamsql.cli.execution.postgres import port_of_shell, postgres_address, warn_if_open
from streamsql.cli.main import main
from streamsql.engine import Engine, EngineConfig
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
    with pytest.raises(ConfigError, match="invalid listen address"):
        postgres_address(text)


def test_who_lets_everybody_in_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_if_open("5433", ServerConfig())
        warn_if_open("0.0.0.0:5433", ServerConfig(users_file=Path("users")))
        assert not caplog.records
        warn_if_open("0.0.0.0:5433", ServerConfig())
    assert "every client that reaches 0.0.0.0:5433 has full access" in caplog.text


def test_a_shell_listens_while_it_is_there(tmp_path: Path) -> None:
    engine = Engine(EngineConfig(data_dir=tmp_path))
    with (
        port_of_shell("127.0.0.1:0", engine) as (host, port),
        pytest.raises(psycopg.OperationalError, match="the server is starting up"),
    ):
        psycopg.connect(host=host, port=port, user="ann")
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(host=host, port=port, user="ann")


def test_a_shell_listens_on_this_machine_only(tmp_path: Path) -> None:
    engine = Engine(EngineConfig(data_dir=tmp_path))
    with pytest.raises(ConfigError, match="on this machine only"), port_of_shell(":5433", engine):
        pass


def test_commands_that_have_no_port_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--postgres", "5433", "check", "pipeline.sql"])
    assert "an option of the shell and of `streamsql server`" in capsys.readouterr().err
