"""Files of statements, and what RUN SCRIPT does, on whichever side of the network the file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.results import LineStream, Result, RowStream

Execute = Callable[[str, tuple[str, ...]], Iterator[Result]]
"""Runs a text that belongs to these scripts, the innermost last."""


@dataclass(frozen=True)
class NamedText:
    """A text of statements and the name that errors give it."""

    name: str
    sql: str


def read_script(path: str, scripts: tuple[str, ...]) -> tuple[NamedText, tuple[str, ...]]:
    """The script of RUN SCRIPT, and `scripts`, those that are being run already, with it.

    ConfigError where the file cannot be read, or runs itself.
    """
    file = Path(path).expanduser().absolute()
    if str(file) in scripts:
        raise ConfigError(f"the script {path} runs itself")
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read the script {path}: {reason}") from None
    return NamedText(path, text), (*scripts, str(file))


def file_of_server(path: str) -> ConfigError:
    """What to raise for a script that somebody on another machine names."""
    return ConfigError(
        f"cannot read the script {path}: it would be a file of the server",
        hint="The shell reads scripts where it runs; other clients send the statements.",
    )


def run_script(path: str, scripts: tuple[str, ...], execute: Execute) -> Iterator[Result]:
    """The results of a file's statements. `scripts` are those that are being run already.

    ConfigError where the file cannot be read, or runs itself.
    """
    script, scripts = read_script(path, scripts)
    for result in execute(script.sql, scripts):
        yield result
        if isinstance(result, RowStream | LineStream):
            # Whoever shows a stream has seen all they wanted when they ask for more.
            result.cancel()
