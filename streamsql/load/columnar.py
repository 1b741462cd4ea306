"""Records from columns (CSV and Parquet), encoded by Arrow column by column. A CSV column is
numeric or boolean if all its cells in the first blocks are; a later cell that does not fit is text.
Numbers are copied as text, so they keep every digit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from streamsql.errors import ConfigError, did_you_mean
from streamsql.load.blocks import Input
from streamsql.load.csv_input import csv_batches
from streamsql.load.encoding import Cells, delimited_values, json_values, of_arrow, of_text
from streamsql.load.keys import key_encoder
from streamsql.load.rows import bad_timestamp, wider
from streamsql.load.spec import STDIN, Chunk, Columns, LoadSpec, unreadable
from streamsql.load.timestamps import timestamp_parser, to_strptime

PARQUET_ROWS = 20_000


def csv_chunks(source: Input, spec: LoadSpec, columns: Columns) -> Iterator[Chunk]:
    """The records of a CSV input with a header line."""
    encoder = _Encoder(spec, columns)
    for batch in csv_batches(source):
        names = batch.schema.names
        cells = [encoder.text(n, batch.column(i)) for i, n in enumerate(names)]
        yield encoder.chunk(names, cells, source.position())


def parquet_chunks(source: Input, spec: LoadSpec, columns: Columns) -> Iterator[Chunk]:
    """The records of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    if spec.source == STDIN:
        raise ConfigError("Parquet cannot be read from standard input")
    encoder = _Encoder(spec, columns)
    try:
        file = parquet.ParquetFile(source.stream)
        done, total = 0, file.metadata.num_rows
        for batch in file.iter_batches(PARQUET_ROWS):
            done += batch.num_rows
            names = batch.schema.names
            cells = [encoder.typed(n, batch.column(i)) for i, n in enumerate(names)]
            yield encoder.chunk(names, cells, (source.size or 0) * done // max(total, 1))
    except pa.ArrowInvalid as error:
        raise unreadable(spec.name, error) from error


class _Encoder:
    """Makes records of columns, with the key, timestamp and format of a load."""

    def __init__(self, spec: LoadSpec, columns: Columns) -> None:
        self._spec = spec
        self._columns = columns
        self._key = key_encoder(spec) if spec.key else None
        self._timestamp = timestamp_parser(spec.timestamp_format)

    def text(self, name: str, column: Any) -> Cells:
        cells = of_text(column, self._columns.types.get(name))
        self._columns.types[name] = wider(self._columns.types.get(name), cells.sql_type)
        return cells

    def typed(self, name: str, column: Any) -> Cells:
        cells = of_arrow(column)
        self._columns.types[name] = cells.sql_type
        return cells

    def chunk(self, names: Sequence[str], cells: Sequence[Cells], position: int) -> Chunk:
        spec, by_name = self._spec, dict(zip(names, cells, strict=True))
        dropped = {self._find(names, column.name) for column in spec.key}
        if spec.format == "DELIMITED":
            values = delimited_values([c for n, c in by_name.items() if n not in dropped])
        else:
            values = json_values(by_name)
        keys: Sequence[bytes | None] | None = None
        if self._key:
            parts = [by_name[self._find(names, c.name)].values() for c in spec.key]
            keys = [self._key(row) for row in zip(*parts, strict=True)]
        if spec.timestamp is None:
            return Chunk(values, keys, None, 0, position)
        times = self._times(by_name[self._find(names, spec.timestamp)])
        kept = [i for i, time in enumerate(times) if time is not None]
        skipped = len(times) - len(kept)
        if skipped:
            values = [values[i] for i in kept]
            keys = [keys[i] for i in kept] if keys is not None else None
        return Chunk(values, keys, [t for t in times if t is not None], skipped, position)

    def _find(self, names: Sequence[str], wanted: str) -> str:
        if wanted in names:
            return wanted
        found = [name for name in names if name.casefold() == wanted.casefold()]
        if not found:
            raise ConfigError(
                f"{self._spec.name} has no column {wanted}",
                hint=did_you_mean(wanted, names) or f"Its columns: {', '.join(names)}.",
            )
        return found[0]

    def _times(self, cells: Cells) -> list[int | None]:
        fast = _fast_times(cells, self._spec.timestamp_format)
        if fast is not None:
            return fast
        times = []
        for cell in cells.values():
            try:
                times.append(self._timestamp(cell))
            except ValueError as error:
                raise bad_timestamp(self._spec, cell) from error
        return times


def _fast_times(cells: Cells, pattern: str | None) -> list[int | None] | None:
    """All times at once where Arrow understands them all; else None."""
    import pyarrow as pa
    from pyarrow import compute as pc

    column = cells.column
    try:
        if pattern is not None:
            directives = to_strptime(pattern)
            if "%f" in directives or "%z" in directives:
                return None
            moments = pc.strptime(column.cast(pa.string()), directives, "ms")
        elif pa.types.is_timestamp(column.type):
            moments = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        elif not pa.types.is_string(column.type):
            return None
        elif pc.all(pc.match_substring_regex(column, r"T.*(Z|[+-]\d\d:?\d\d)$")).as_py():
            moments = column.cast(pa.timestamp("ms", "UTC"))
        elif pc.all(pc.match_substring_regex(column, r"^\d{4}-")).as_py():
            moments = column.cast(pa.timestamp("ms"))
        else:
            return None
        times: list[int | None] = moments.cast(pa.int64()).to_pylist()
    except pa.ArrowInvalid:
        return None
    return times


def dump(value: object) -> str:
    """JSON text of a nested value of a typed file."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
