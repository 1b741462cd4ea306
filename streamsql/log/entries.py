"""The durable log of statements: what the engine replays at its start.

An engine by itself keeps it in a file: one JSON object a line, appended and synced before a
statement takes effect, never rewritten; servers keep it in Kafka (topic_log.py). What an entry
means is the replay's business (restore.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from streamsql.errors import ConfigError, ExternalError, StreamSQLError
from streamsql.version import VERSION

Offsets = Mapping[str, Mapping[str, int]]
"""Per topic and partition (as text, as in JSON) the first offset to read."""


@dataclass(frozen=True)
class Entry:
    """A statement that took effect, with everything needed to replay it."""

    sequence: int
    sql: str
    """Canonical text with variables resolved."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """The session's properties at the time."""
    query_id: str | None = None
    topics: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)
    """Partitions and replicas of the topics that planning asked for, None for missing ones."""
    offsets: Offsets | None = None
    """Where a new query begins to read, where that is not the beginning."""
    version: str = ""
    """Of the engine that wrote it."""
    schemas: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    """The registered schemas that planning asked for, by subject or id, None for missing ones."""
    deletes: Mapping[str, str] = field(default_factory=dict)
    """The topics that the statement deletes, by name: their ids in Kafka. One made again under the
    same name has another id."""
    parts: tuple[Entry, ...] = ()
    """Of a set of statements that take effect together: each of them, in their order."""
    rebuilds: bool = False
    """For a statement that replaces a query: whether it has a rebuilt checkpoint."""
    replaces: bool = False
    """For an INSERT INTO .. SELECT: whether the query of its id continues as this one. Earlier
    versions reject it, since they would run a second query."""

    @property
    def is_row(self) -> bool:
        """Whether it records a written row of INSERT .. VALUES, which is not replayed."""
        of_one = self.query_id is None and not self.parts
        return of_one and self.sql.startswith("INSERT INTO ")

    @property
    def statements(self) -> tuple[Entry, ...]:
        """One entry per statement: itself, except for a set."""
        return self.parts or (self,)


class StatementLog(Protocol):
    """A log of statements. Not thread-safe: the engine serialises its changes."""

    @property
    def entries(self) -> Sequence[Entry]: ...

    @property
    def next_sequence(self) -> int:
        """The number that the next entry gets."""

    def append(self, entry: Entry) -> None:
        """Add an entry; it survives any crash once this has returned. ExternalError if it can't."""

    def close(self) -> None:
        """Closes the log; nothing can be appended afterwards."""


class FileLog:
    """The log in one file."""

    def __init__(self, path: Path) -> None:
        """Reads the log and truncates a torn last line. ExternalError if the file is unreadable or
        damaged elsewhere, ConfigError if a later version has written it; the file is then
        unchanged."""
        self.path = path
        try:
            existed = path.exists()
            self._file = open(path, "a+b", buffering=0, opener=_open_private)
        except OSError as error:
            raise _failed("read", path, error) from error
        try:
            if not existed:
                _sync_folder(path.parent)
            self._torn = False
            """Whether a line that was not written whole may follow the entries."""
            self.entries, self._size = self._load()
        except BaseException as error:
            self._file.close()
            if isinstance(error, OSError):
                raise _failed("read", path, error) from error
            raise

    def _load(self) -> tuple[list[Entry], int]:
        self._file.seek(0)
        content = self._file.read()
        entries, size = _whole_entries(content, self.path)
        if size < len(content):
            self._file.truncate(size)
            os.fsync(self._file.fileno())
        return entries, size

    @property
    def next_sequence(self) -> int:
        """The number that the next entry gets."""
        return self.entries[-1].sequence + 1 if self.entries else 1

    def append(self, entry: Entry) -> None:
        """Add an entry; it survives any crash once this has returned. ExternalError if it can't."""
        line = encode(entry) + b"\n"
        if self._torn:
            # Behind such a line the entry would be lost at the next start.
            self._cut_off()
        try:
            self._torn = True
            written = self._file.write(line)
            if written != len(line):
                raise OSError("the disk is full")
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(ExternalError):  # The next append tries again.
                self._cut_off()
            raise _failed("write", self.path, error) from error
        self._torn = False
        self._size += len(line)
        self.entries.append(entry)

    def _cut_off(self) -> None:
        """Remove what an append that failed has left. ExternalError where that fails as well."""
        try:
            self._file.truncate(self._size)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _failed("write", self.path, error) from error
        self._torn = False

    def close(self) -> None:
        self._file.close()


def encode(entry: Entry) -> bytes:
    """An entry as JSON, on one line.

    What earlier versions do not know is written only where it says something: they then refuse the
    entries that they could not do justice to, and read all others.
    """
    return json.dumps(_content(entry), ensure_ascii=False).encode()


def _content(entry: Entry) -> dict[str, Any]:
    content = asdict(entry)
    content["parts"] = [_content(part) for part in entry.parts]
    for name in ("deletes", "parts", "rebuilds", "replaces"):
        if not content[name]:
            del content[name]
    return content


def decode(text: bytes, place: str) -> Entry:
    """Decodes an entry; `place` is its position for errors. ValueError for invalid JSON, such as a
    torn line; ConfigError for valid JSON that this version does not understand."""
    content = json.loads(text)
    if not isinstance(content, dict) or not _understood(content):
        raise foreign(content, place)
    return _entry(content)


def _entry(content: dict[str, Any]) -> Entry:
    topics, parts = content.pop("topics", {}), content.pop("parts", [])
    return Entry(
        topics={n: (f[0], f[1]) if f else None for n, f in topics.items()},
        parts=tuple(map(_entry, parts)),
        **content,
    )


_KINDS: Mapping[str, tuple[type, ...]] = {
    "sequence": (int,),
    "sql": (str,),
    "properties": (dict,),
    "query_id": (str, type(None)),
    "topics": (dict,),
    "offsets": (dict, type(None)),
    "version": (str,),
    "schemas": (dict,),
    "deletes": (dict,),
    "parts": (list,),
    "rebuilds": (bool,),
    "replaces": (bool,),
}
"""The fields of an entry, and what JSON they hold."""


def _understood(content: Mapping[str, object]) -> bool:
    """Whether an entry has all required fields, and no unknown ones."""
    if not {"sequence", "sql"} <= content.keys():
        return False
    if not all(isinstance(value, _KINDS.get(name, ())) for name, value in content.items()):
        return False
    parts = cast(list[object], content.get("parts", []))
    if not all(isinstance(part, dict) and _understood(part) for part in parts):
        return False
    topics = cast(dict[str, object], content.get("topics", {})).values()
    return all(f is None or isinstance(f, list) and len(f) == 2 for f in topics)


def foreign(content: object, place: str) -> ConfigError:
    """The error for a foreign entry, or one of an unsupported version."""
    found = content if isinstance(content, dict) else {}
    writer, what = found.get("version"), f"cannot read {place}"
    if not isinstance(writer, str) or not writer:
        return ConfigError(
            f"{what}: not a statement of streamsql",
            hint="Nothing has been changed. Restore it from a backup, or use another data folder.",
        )
    unknown = sorted(_unknown(found))
    return ConfigError(
        f"{what}: written by streamsql {writer}, but this is {VERSION}",
        detail=f"This version does not know: {', '.join(unknown)}." if unknown else None,
        hint=f"Nothing has been changed. Start streamsql {writer} or a later version.",
    )


def _unknown(content: Mapping[str, object]) -> set[str]:
    """The fields that no entry of this version has, in those of a set too."""
    found, parts = content.keys() - _KINDS.keys(), content.get("parts")
    of_parts = (
        _unknown(p) for p in (parts if isinstance(parts, list) else ()) if isinstance(p, dict)
    )
    return set(found).union(*of_parts)


def read_file(path: Path) -> list[Entry]:
    """The entries of a log that an engine may be writing; empty without a log. ExternalError if the
    file is unreadable or damaged, ConfigError if a later version has written it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _failed("read", path, error) from error
    return _whole_entries(content, path)[0]


def _whole_entries(content: bytes, path: Path) -> tuple[list[Entry], int]:
    """The entries of a log, and the size of their lines: the rest is a torn line. Only a crash
    during an append leaves one, and its statement was never acknowledged."""
    entries: list[Entry] = []
    size = 0
    for line in content.splitlines(keepends=True):
        number = len(entries) + 1
        try:
            if not line.endswith(b"\n"):
                break
            entries.append(decode(line, f"entry {number} of the statement log {path}"))
        except ValueError:
            if size + len(line) < len(content):
                raise ExternalError(
                    f"the statement log {path} is damaged after entry {number - 1}",
                    hint="Restore the file from a backup, or move it away to start afresh.",
                ) from None
            break
        size += len(line)
    return entries, size


def _open_private(path: str, flags: int) -> int:
    """Statements may hold passwords: the file is for its owner alone, also one of an earlier
    version."""
    descriptor = os.open(path, flags, 0o600)
    with suppress(OSError):  # The file system, or another owner, decides.
        os.fchmod(descriptor, 0o600)
    return descriptor


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failed(action: str, path: Path, error: OSError) -> StreamSQLError:
    return ExternalError(f"cannot {action} the statement log {path}: {error.strerror or error}")
