"""Keys of loaded records, in the formats that streams declare."""

from __future__ import annotations

import csv
import io
import json
import struct
from collections.abc import Callable, Sequence

from streamsql.errors import ConfigError
from streamsql.load.spec import KeyColumn, LoadSpec
from streamsql.types import PRIMITIVES
from streamsql.values.nested import scalar
from streamsql.values.records import pack

KeyEncoder = Callable[[Sequence[object]], bytes | None]
"""From the key's cells to its bytes; None where all cells are null."""


def key_encoder(spec: LoadSpec) -> KeyEncoder:
    """The encoder of the load's key; ConfigError where the format cannot hold it."""
    key_format = spec.resolved_key_format()
    if key_format == "KAFKA":
        if len(spec.key) > 1:
            raise ConfigError(
                "the KAFKA key format holds a single column",
                hint="Use --key-format JSON or DELIMITED for a key of several columns.",
            )
        return _kafka_encoder(spec.key[0])
    if key_format == "DELIMITED":
        return _delimited
    if len(spec.key) == 1:
        return lambda cells: None if cells[0] is None else _json(cells[0])
    names = [column.name for column in spec.key]
    return lambda cells: (
        None if all(cell is None for cell in cells) else _json(dict(zip(names, cells, strict=True)))
    )


def _kafka_encoder(column: KeyColumn) -> KeyEncoder:
    if column.type == "STRING":
        return lambda cells: None if cells[0] is None else _text(cells[0]).encode()
    kind = PRIMITIVES[column.type]
    read = scalar(kind).of_text

    def encode(cells: Sequence[object]) -> bytes | None:
        if cells[0] is None:
            return None
        try:
            return pack(kind, read(str(cells[0])))
        except (ValueError, struct.error) as error:
            raise ConfigError(
                f"key column {column.name}: {str(cells[0])!r} is not a {column.type}"
            ) from error

    return encode


def _delimited(cells: Sequence[object]) -> bytes | None:
    if all(cell is None for cell in cells):
        return None
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(
        ["" if cell is None else _text(cell) for cell in cells]
    )
    return line.getvalue().encode()


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def _text(cell: object) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (list, dict)):
        return json.dumps(cell, ensure_ascii=False, separators=(",", ":"))
    return str(cell)
