"""Files of statements, and RUN SCRIPT in clients and servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.results import LineStream, Result, RowStream

Execute = Callable[[str, tuple[str, ...]], Iterator[Result]]
"""Runs the text of a script; the innermost script is the last."""


@dataclass(frozen=True)
class NamedText:
    """A text of statements and its name in errors."""

    name: str
    sql: str


def read_script(path: str, scripts: tuple[str, ...]) -> tuple[NamedText, tuple[str, ...]]:
    """The script of RUN SCRIPT, and `scripts` extended by it. ConfigError if the file cannot be
    read, or runs itself."""
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
    """The error for a script that a remote client names."""
    return ConfigError(
        f"cannot read the script {path}: it would be a file of the server",
        hint="The shell reads scripts where it runs; other clients send the statements.",
    )


def run_script(path: str, scripts: tuple[str, ...], execute: Execute) -> Iterator[Result]:
    """The results of a file's statements; `scripts` are the enclosing ones. ConfigError if the file
    cannot be read, or runs itself."""
    script, scripts = read_script(path, scripts)
    for result in execute(script.sql, scripts):
        yield result
        if isinstance(result, RowStream | LineStream):
            # A client that shows a stream has finished with it when it asks for the next result.
            result.cancel()
