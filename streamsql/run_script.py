"""What RUN SCRIPT does, on whichever side of the network the file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.results import LineStream, Result, RowStream

Execute = Callable[[str, tuple[str, ...]], Iterator[Result]]
"""Runs a text that belongs to these scripts, the innermost last."""


def run_script(path: str, scripts: tuple[str, ...], execute: Execute) -> Iterator[Result]:
    """The results of a file's statements. `scripts` are those that are being run already.

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
    for result in execute(text, (*scripts, str(file))):
        yield result
        if isinstance(result, RowStream | LineStream):
            # Whoever shows a stream has seen all they wanted when they ask for more.
            result.cancel()
