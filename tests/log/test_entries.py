"""The statement log survives whatever a crash may leave."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from streamsql.errors import ConfigError, ExternalError
from streamsql.log.entries import Entry, FileLog, read_file


def entry(sequence: int, sql: str = "SHOW STREAMS;") -> Entry:
    return Entry(
        sequence,
        sql,
        {"processing.mode": "auto"},
        "CSAS_X_1",
        {"t": (2, 1), "missing": None},
        {"t": {"0": 5}},
        "0.1.0",
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "statements.log"


def written(path: Path, count: int) -> list[Entry]:
    log = FileLog(path)
    for _ in range(count):
        log.append(entry(log.next_sequence, f"DEFINE x = 'ä{log.next_sequence}';"))
    log.close()
    return log.entries


def reopened(path: Path) -> FileLog:
    """The log as the next start reads it."""
    log = FileLog(path)
    log.close()
    return log


def test_entries_come_back_as_they_were(path: Path) -> None:
    entries = written(path, 3)
    log = reopened(path)
    assert log.entries == entries
    assert [e.sequence for e in log.entries] == [1, 2, 3]
    assert log.next_sequence == 4


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_torn_last_line_is_cut_off(path: Path, cut: int) -> None:
    entries = written(path, 3)
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    log = FileLog(path)
    assert log.entries == entries[:2]
    log.append(entry(log.next_sequence))
    log.close()
    assert [e.sequence for e in reopened(path).entries] == [1, 2, 3]
    assert path.read_bytes().count(b"\n") == 3


def test_every_prefix_of_the_file_opens(path: Path) -> None:
    written(path, 2)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        log = reopened(path)
        assert len(log.entries) == (2 if size == len(content) else 1 if size >= first else 0)


def test_damage_in_the_middle_is_an_error(path: Path) -> None:
    written(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[2])
    with pytest.raises(ExternalError, match="damaged after entry 1"):
        FileLog(path)


def test_a_log_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="cannot read the statement log"):
        FileLog(tmp_path)


def test_another_process_reads_while_an_entry_is_being_written(path: Path) -> None:
    entries = written(path, 2)
    with path.open("ab") as file:
        file.write(b'{"sequence": 3, "sql"')
    assert read_file(path) == entries
    assert path.read_bytes().endswith(b'"sql"'), "it changes nothing"
    assert read_file(path.with_name("none.log")) == []


LATER = {"sequence": 3, "sql": "DROP STREAM s;", "topics": {}, "version": "9.1.0"}


@pytest.mark.parametrize(
    "changed",
    [{"lineage": {"a": 1}}, {"topics": {"t": {"partitions": 3}}}, {"sql": ["DROP", "STREAM"]}],
)
def test_an_entry_of_a_later_version_stays_and_refuses_the_start(
    path: Path, changed: dict[str, object]
) -> None:
    written(path, 2)
    with path.open("ab") as file:
        file.write(json.dumps(LATER | changed).encode() + b"\n")
    content = path.read_bytes()
    for read in (FileLog, read_file):
        with pytest.raises(ConfigError, match=r"entry 3 .* written by streamsql 9\.1\.0") as caught:
            read(path)
        assert caught.value.hint and "Start streamsql 9.1.0 or a later version" in caught.value.hint
    assert path.read_bytes() == content


def test_what_is_not_known_of_a_set_is_named(path: Path) -> None:
    part = LATER | {"replaces": True, "lineage": {"a": 1}}
    path.write_bytes(json.dumps(LATER | {"parts": [part]}).encode() + b"\n")
    with pytest.raises(ConfigError) as caught:
        FileLog(path)
    assert caught.value.detail == "This version does not know: lineage."


@pytest.mark.parametrize("line", [b"null", b"{}", b'{"sql": "SHOW STREAMS;"}', b"[1, 2]"])
def test_what_is_no_entry_at_all_stays_too(path: Path, line: bytes) -> None:
    written(path, 1)
    with path.open("ab") as file:
        file.write(line + b"\n")
    content = path.read_bytes()
    with pytest.raises(ConfigError, match="entry 2 .* not a statement of streamsql"):
        FileLog(path)
    assert path.read_bytes() == content


def test_another_process_sees_damage_too(path: Path) -> None:
    written(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[2])
    with pytest.raises(ExternalError, match="damaged after entry 1"):
        read_file(path)


def test_the_log_is_for_its_owner_alone(path: Path) -> None:
    FileLog(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)  # as earlier versions made it
    FileLog(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


class FailingDisk:
    """A log's file on a disk that writes half a line, and then not even truncates it."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.works = False

    def write(self, line: bytes) -> int:
        if self.works:
            return int(self._file.write(line))
        self._file.write(line[: len(line) // 2])
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def truncate(self, size: int) -> int:
        if not self.works:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return int(self._file.truncate(size))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_nothing_is_written_behind_a_torn_line(path: Path) -> None:
    """Else the next start would call the log damaged, or drop what was acknowledged."""
    log = FileLog(path)
    log.append(entry(1))
    log._file = disk = FailingDisk(log._file)  # type: ignore[assignment]
    for _ in range(2):
        with pytest.raises(ExternalError, match="cannot write the statement log"):
            log.append(entry(2, "DEFINE lost = 'x';"))
    disk.works = True
    log.append(entry(2))
    log.append(entry(3))
    log.close()
    assert reopened(path).entries == [entry(1), entry(2), entry(3)]
