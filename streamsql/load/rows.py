"""Records out of rows: lines of JSON, the elements of a JSON array, lines of plain text.

JSON goes into its record unchanged, so numbers keep every digit.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from streamsql.errors import ConfigError
from streamsql.load.blocks import Input, line_blocks
from streamsql.load.keys import key_encoder
from streamsql.load.spec import Chunk, Columns, LoadSpec, unreadable
from streamsql.load.timestamps import timestamp_parser

JSONObject = Mapping[str, Any]
_DECODER = json.JSONDecoder()
CHUNK_ROWS = 10_000


def json_chunks(source: Input, spec: LoadSpec, columns: Columns) -> Iterator[Chunk]:
    """The records of a JSON input; ExternalError names the line that is not an object."""
    rows = _Rows(spec, columns)
    number = 1
    blocks = line_blocks(source)
    first = next(blocks, b"")
    if first.lstrip()[:1] == b"[":
        text = (first + b"".join(blocks)).decode("utf-8")
        yield from rows.chunks(_elements(text, spec), source)
        return
    while first:
        lines = first.splitlines()
        yield from rows.chunks(_objects(lines, number, spec), source)
        number += len(lines)
        first = next(blocks, b"")


def text_chunks(source: Input, spec: LoadSpec, columns: Columns) -> Iterator[Chunk]:
    """The lines of a text, each a record with the one column `line`."""
    rows = _Rows(spec, columns)
    for block in line_blocks(source):
        lines = block.decode("utf-8", errors="replace").splitlines()
        objects = ({"line": line} for line in lines)
        yield from rows.chunks(
            ((json.dumps(row, ensure_ascii=False).encode(), row) for row in objects), source
        )


def _objects(lines: list[bytes], first: int, spec: LoadSpec) -> Iterator[tuple[bytes, JSONObject]]:
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise unreadable(spec.name, f"line {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise unreadable(spec.name, f"line {number} is not a JSON object")
        yield line, row


def _elements(text: str, spec: LoadSpec) -> Iterator[tuple[bytes, JSONObject]]:
    at = text.index("[") + 1
    number = 0
    while True:
        at = _skip(text, at, " \t\r\n,")
        if text[at : at + 1] == "]":
            return
        number += 1
        try:
            row, end = _DECODER.raw_decode(text, at)
        except ValueError as error:
            raise unreadable(spec.name, f"element {number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise unreadable(spec.name, f"element {number} is not a JSON object")
        yield text[at:end].encode(), row
        at = end


def _skip(text: str, at: int, what: str) -> int:
    while at < len(text) and text[at] in what:
        at += 1
    return at


class _Rows:
    """Makes records of rows, with the key, timestamp and format of a load."""

    def __init__(self, spec: LoadSpec, columns: Columns) -> None:
        self._spec = spec
        self._columns = columns
        self._key = key_encoder(spec) if spec.key else None
        self._timestamp = timestamp_parser(spec.timestamp_format) if spec.timestamp else None
        self._encode: Callable[[JSONObject], bytes] | None = None

    def chunks(self, rows: Iterator[tuple[bytes, JSONObject]], source: Input) -> Iterator[Chunk]:
        batch: list[tuple[bytes, JSONObject]] = []
        for row in rows:
            batch.append(row)
            if len(batch) == CHUNK_ROWS:
                yield self._chunk(batch, source)
                batch = []
        if batch:
            yield self._chunk(batch, source)

    def _chunk(self, batch: list[tuple[bytes, JSONObject]], source: Input) -> Chunk:
        for _, row in batch[:1000]:
            for name, value in row.items():
                self._columns.types[name] = wider(self._columns.types.get(name), sql_type(value))
        given = len(batch)
        timestamps = None
        if self._timestamp:
            times = [self._time(row) for _, row in batch]
            batch = [row for row, time in zip(batch, times, strict=True) if time is not None]
            timestamps = [time for time in times if time is not None]
        if self._spec.format == "DELIMITED":
            values = [self._delimited(row) for _, row in batch]
        else:
            values = [text for text, _ in batch]
        names = [column.name for column in self._spec.key]
        keys = None
        if self._key:
            keys = [self._key([_cell(row, name) for name in names]) for _, row in batch]
        return Chunk(values, keys, timestamps, given - len(batch), source.position())

    def _time(self, row: JSONObject) -> int | None:
        assert self._timestamp is not None and self._spec.timestamp is not None
        cell = _cell(row, self._spec.timestamp)
        try:
            return self._timestamp(cell)
        except ValueError as error:
            raise bad_timestamp(self._spec, cell) from error

    def _delimited(self, row: JSONObject) -> bytes:
        dropped = {column.name.casefold() for column in self._spec.key}
        names = [name for name in self._columns.types if name.casefold() not in dropped]
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([_plain(row.get(name)) for name in names])
        return line.getvalue().encode()


def bad_timestamp(spec: LoadSpec, cell: object) -> ConfigError:
    wanted = f"the format {spec.timestamp_format}" if spec.timestamp_format else "ISO 8601 or ms"
    return ConfigError(
        f"column {spec.timestamp}: {str(cell)!r} is not a timestamp in {wanted}",
        hint="Give the format with --timestamp-format, such as 'yyyy-MM-dd HH:mm:ss'.",
    )


def _cell(row: JSONObject, name: str) -> object:
    if name in row:
        return row[name]
    folded = name.casefold()
    return next((value for key, value in row.items() if key.casefold() == folded), None)


def _plain(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (dict, list)) else value


_ORDER = ("BOOLEAN", "INT", "BIGINT", "DOUBLE", "STRING")


def sql_type(value: object) -> str | None:
    """The SQL type of a JSON value; None for null."""
    match value:
        case None:
            return None
        case bool():
            return "BOOLEAN"
        case int():
            return "INT" if -(2**31) <= value < 2**31 else "BIGINT"
        case float():
            return "DOUBLE"
        case list():
            inner: str | None = None
            for element in value:
                inner = wider(inner, sql_type(element))
            return f"ARRAY<{inner or 'STRING'}>"
        case dict():
            fields = ", ".join(f"{_name(k)} {sql_type(v) or 'STRING'}" for k, v in value.items())
            return f"STRUCT<{fields}>" if fields else "MAP<STRING, STRING>"
    return "STRING"


def wider(a: str | None, b: str | None) -> str | None:
    """The SQL type that holds both."""
    if a is None or b is None or a == b:
        return a or b
    if a in _ORDER and b in _ORDER and "BOOLEAN" not in (a, b):
        return max(a, b, key=_ORDER.index)
    if "<" in a and "<" in b and a.partition("<")[0] == b.partition("<")[0]:
        return max(a, b, key=len)
    return "STRING"


def _name(name: str) -> str:
    return name.upper() if name.isidentifier() else f"`{name}`"
