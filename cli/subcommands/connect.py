"""`streamsql connect URL`: the shell, `-e`, `-f` and statements from a pipe, over a server. Runs no
Kafka, Spark or JVM; only the session and the files of RUN SCRIPT are local."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from streamsql.cli.options.parser import assignments, properties_of
from streamsql.cli.shell.shell import Shell, converse, read_statements
from streamsql.cli.subcommands.check import display_name, read_script
from streamsql.cli.subcommands.run import run_text
from streamsql.cli.terminal.render import Renderer
from streamsql.client.remote import RemoteEngine
from streamsql.client.transport import Address
from streamsql.errors import ConfigError
from streamsql.properties import validate


def command(args: argparse.Namespace) -> int:
    """Do what the options say; ExternalError where the server cannot be reached."""
    if args.statements or args.files:
        return _execute(args)
    if not sys.stdin.isatty():
        return _piped(args)
    return _interactive(args)


def make_connection(args: argparse.Namespace) -> RemoteEngine:
    """A connection as the options describe it, not yet begun; ConfigError for a wrong option."""
    ca_file = Path(args.ca_file).expanduser() if args.ca_file else None
    address = Address.of(args.url, args.user, _password(args), ca_file)
    engine = RemoteEngine(address)
    properties = properties_of(args)
    engine.session.properties.update(validate(*item) for item in properties.items())
    defined = assignments(args.define, "--define")
    engine.session.variables.update({name.upper(): value for name, value in defined.items()})
    return engine


def _password(args: argparse.Namespace) -> str | None:
    if args.password is not None:
        return str(args.password)
    if args.password_file:
        return read_password(args.password_file)
    if args.user and sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"Password of {args.user}: ")
    return None


def read_password(path: str) -> str:
    """The first line of a file; ConfigError where it cannot be read."""
    try:
        return Path(path).expanduser().read_text("utf-8").split("\n", 1)[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read the password file {path}: {reason}") from None


def _execute(args: argparse.Namespace) -> int:
    """`-e` and `-f`: run them, the statements first, and end; at an error at once."""
    renderer = Renderer(args.output or "table")
    files = args.files or []
    texts: list[tuple[str | None, str]] = [(None, sql) for sql in args.statements or []]
    texts += [(display_name(name), read_script(name)) for name in files]
    with make_connection(args) as engine:
        for name, sql in texts:
            code = run_text(engine, sql, renderer, args.debug, name)
            if code:
                return code
    return 0


def _piped(args: argparse.Namespace) -> int:
    with make_connection(args) as engine:
        renderer = Renderer(args.output or "table")
        return read_statements(Shell(engine, renderer, _place(engine), args.debug))


def _interactive(args: argparse.Namespace) -> int:
    from streamsql.cli.shell.prompt import Prompt

    with make_connection(args) as engine:
        shell = Shell(engine, Renderer(args.output or "table"), _place(engine), args.debug)
        prompt = Prompt(engine, _history())
        shell.greet(f"connected to {engine.address.url}, version {engine.version}")
        converse(shell, prompt)
    return 0


def _place(engine: RemoteEngine) -> tuple[str, str]:
    return "Server", f"{engine.address.url}  version {engine.version}"


def _history() -> Path:
    """History file of the remote shell, private to the user."""
    import platformdirs

    folder = Path(platformdirs.user_state_dir("streamsql"))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "history"
