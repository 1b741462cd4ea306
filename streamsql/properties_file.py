"""Reads `.properties` files in Java's syntax: comments, continued lines, escapes. Later assignments
override earlier ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from streamsql.errors import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*(\s*[=:]\s*|\s+)")


def read_properties(path: Path) -> dict[str, str]:
    """The properties of the file; a ConfigError does not contain values."""
    try:
        text = path.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read {path}: {reason}") from None
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """The properties of a text.

    >>> parse_properties("a = 1\\nb:x \\\\\\n  y\\n# no\\n")
    {'a': '1', 'b': 'x y'}
    """
    found = {}
    for line in _logical_lines(text):
        separator = _SEPARATOR.search(line)
        name, value = (
            (line[: separator.start(1)], line[separator.end(1) :]) if separator else (line, "")
        )
        found[_unescaped(name)] = _unescaped(value)
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Logical lines without comments and blank lines. An odd number of trailing backslashes
    continues a line."""
    pending = ""
    for natural in text.splitlines():
        line = natural.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        if (len(pending) - len(pending.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code, other = match.groups()
        return chr(int(code, 16)) if code else _ESCAPES.get(other, other)

    return _ESCAPE.sub(character, text)
