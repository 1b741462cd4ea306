"""`streamsql check`: parse and plan the statements of files, and report every error. No JVM."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.cli.options.parser import assignments, properties_of
from streamsql.cli.terminal.render import error_lines
from streamsql.cli.terminal.style import Style
from streamsql.errors import ExternalError

if TYPE_CHECKING:
    from streamsql.api.checking import Checked


def command(args: argparse.Namespace) -> int:
    """The exit code: 1 where a file has an error."""
    from streamsql.api.checking import NamedText, check

    variables = {k.upper(): v for k, v in assignments(args.define, "--define").items()}
    properties = properties_of(args)
    style = Style.of(sys.stdout)
    found = 0
    for name in args.files:
        text = NamedText(display_name(name), read_script(name))
        checked = check(text, variables, properties, read_script)
        for error, wrong in checked.errors:
            print("\n".join(error_lines(error, wrong.sql, wrong.name, style)))
        for warning, span, said in checked.warnings:
            place = "" if span is None else f"{span.line}:{span.column}:"
            print(style.warning(f"{said.name}:{place} warning: {warning}"))
        found += len(checked.errors)
        print(_summary(display_name(name), checked, style))
    return 1 if found else 0


def read_script(name: str) -> str:
    """The text of a file, `-` being standard input; ExternalError where it cannot be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except OSError as error:
        raise ExternalError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ExternalError(f"cannot read {name}: it is not UTF-8 text") from error


def display_name(name: str) -> str:
    """How a file is called in messages; `-` is standard input."""
    return "<stdin>" if name == "-" else name


def _summary(name: str, checked: Checked, style: Style) -> str:
    count = f"{checked.statements} statement{'' if checked.statements == 1 else 's'}"
    if not checked.errors:
        return style.good(f"{name}: {count}, no errors")
    errors = f"{len(checked.errors)} error{'' if len(checked.errors) == 1 else 's'}"
    after = f", {checked.skipped} not checked as a consequence" if checked.skipped else ""
    return style.warning(f"{name}: {count}, {errors}{after}")
