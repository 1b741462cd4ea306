"""What `streamsql server` makes of its options and of the file of --config."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.cli.options.parser import build_parser
from streamsql.cli.subcommands.server import _fill, engine_config, server_config
from streamsql.errors import ConfigError
from streamsql.server.settings.config import ServerConfig
from streamsql.server.settings.config_file import read_config


def config(*options: str, file: str = "", folder: Path | None = None) -> ServerConfig:
    args = build_parser().parse_args(["server", *options])
    if folder is not None:
        path = folder / "server.properties"
        path.write_text(file)
        _fill(args, read_config(path))
    return server_config(args)


def test_hosts_and_origins(tmp_path: Path) -> None:
    assert config().allowed_hosts == config().cors_origins == ()
    hosts = ("--allowed-host", "a.example", "--allowed-host", "*.B.example")
    found = config(*hosts, "--cors-origin", "https://c.example/")
    assert found.allowed_hosts == ("a.example", "*.b.example")
    assert found.cors_origins == ("https://c.example",)
    text = "streamsql.allowed.hosts=d.example, 10.0.0.1\nstreamsql.cors.origins=http://e.example"
    found = config(file=text, folder=tmp_path)
    assert found.allowed_hosts == ("d.example", "10.0.0.1")
    assert found.cors_origins == ("http://e.example",)
    assert config(*hosts, file=text, folder=tmp_path).allowed_hosts[0] == "a.example"


def test_trusted_proxies(tmp_path: Path) -> None:
    assert config().trusted_proxies == ()
    found = config("--trusted-proxy", "10.0.0.0/8", "--trusted-proxy", "::1")
    assert list(map(str, found.trusted_proxies)) == ["10.0.0.0/8", "::1/128"]
    found = config(file="streamsql.trusted.proxies=10.0.0.7, ::1", folder=tmp_path)
    assert list(map(str, found.trusted_proxies)) == ["10.0.0.7/32", "::1/128"]


def test_sizes_are_options_of_the_engine_and_lines_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("streamsql.table.memory.mb=64\nstreamsql.heap.mb=900\n")
    args = build_parser().parse_args(["--heap-mb", "700", "server", "--task-slots", "64"])
    engine = engine_config(args, read_config(path), server_config(args))
    assert engine.properties == {
        "streamsql.heap.mb": "700",
        "streamsql.task.slots": "64",
        "streamsql.table.memory.mb": "64",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--allowed-host", "http://a.example"), "http://a.example is not a host"),
        (("--allowed-host", "*"), r"\* is not a host"),
        (("--cors-origin", "a.example"), "a.example is not an origin"),
        (("--cors-origin", "*"), "every web page could run code here"),
    ],
)
def test_hosts_and_origins_that_are_none(options: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        config(*options)
    assert caught.value.hint


def test_all_origins_for_users(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.touch()
    assert config("--cors-origin", "*", "--users-file", str(users)).cors_origins == ("*",)
