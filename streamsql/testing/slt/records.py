"""Files of sqllogictest: statements and queries with what they have to give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from streamsql.errors import ConfigError

ENGINES = frozenset({"streamsql", "postgres", "postgresql"})
"""Names that `skipif` and `onlyif` may call this engine by."""
_RULE = "----"
_HASHED = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})")


@dataclass(frozen=True)
class Record:
    """A statement or a query; `line` is where it begins."""

    path: Path
    line: int
    sql: str
    error: str | None = None
    """It must fail, with a message in which this pattern is found; None: it must not."""
    count: int | None = None
    """How many rows the statement has to change; None: any number."""
    types: str | None = None
    """Of a query, a letter for each column: T, I, R; None: it is a statement."""
    sort: str = "nosort"
    expected: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def hashed(self) -> tuple[int, str] | None:
        """The number of values and their digest, if those are what is expected."""
        found = _HASHED.fullmatch(self.expected[0]) if len(self.expected) == 1 else None
        return (int(found[1]), found[2]) if found else None


@dataclass
class _File:
    path: Path
    sort: str = "nosort"
    lines: list[str] = field(default_factory=list)
    at: int = 0

    def block(self) -> list[str]:
        """The lines up to the next blank one or the end."""
        begin = self.at
        while self.at < len(self.lines) and self.lines[self.at].strip():
            self.at += 1
        return self.lines[begin : self.at]

    def wrong(self, what: str) -> ConfigError:
        return ConfigError(f"{self.path}:{self.at}: {what}")


def read(path: Path) -> Iterator[Record]:
    """The records of a file and of those it includes. ConfigError for what is not of the format."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    file = _File(path, lines=lines)
    skips = False
    while file.at < len(lines):
        line = lines[file.at].strip()
        file.at += 1
        if not line or line.startswith("#"):
            continue
        words = line.split()
        match words[0]:
            case "statement" | "query":
                record = _record(words, file)
                if not skips:
                    yield record
                skips = False
            case "skipif" | "onlyif":
                skips |= (words[1] in ENGINES) == (words[0] == "skipif")
            case "halt":
                return
            case "include":
                for included in sorted(path.parent.glob(words[1])):
                    yield from read(included)
            case "control":
                if words[1] == "sortmode":
                    file.sort = words[2]
            case "hash-threshold" | "subtest" | "sleep" | "connection":
                pass
            case _:
                raise file.wrong(f"{words[0]} is not known")


def _record(words: list[str], file: _File) -> Record:
    line, block = file.at, file.block()
    at = block.index(_RULE) if _RULE in block else len(block)
    sql, expected = "\n".join(block[:at]), [text.rstrip() for text in block[at + 1 :]]
    kind = words[1] if len(words) > 1 else ""
    if kind == "error":
        if at < len(block):  # the message, which may hold single blank lines
            while file.at < len(file.lines) and file.lines[file.at : file.at + 2] != ["", ""]:
                file.at += 1
        return Record(file.path, line, sql, error=" ".join(words[2:]) or ".*")
    if words[0] == "query":
        known = [word for word in words[2:] if word in ("nosort", "rowsort", "valuesort")]
        sort = known[0] if known else file.sort
        return Record(file.path, line, sql, types=kind, sort=sort, expected=tuple(expected))
    if kind not in ("ok", "count"):
        raise file.wrong("a statement is ok, count or error")
    count = int(words[2]) if kind == "count" else None
    return Record(file.path, line, sql, count=count)
