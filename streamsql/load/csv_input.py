"""CSV by Arrow: batches of text columns in constant memory, and errors of rows. The rules are RFC
4180's, as in PostgreSQL and DuckDB: a quote at the start of a cell opens a text that extends,
across line ends, to the next quote that is not doubled; any other quote (`5" disk`) is a character.
An empty cell or `NA` is null, a quoted one never is."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Any

from streamsql.errors import ExternalError
from streamsql.load import blocks
from streamsql.load.blocks import Input
from streamsql.load.spec import unreadable

NULLS = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"]
_MARK = "\x1a"
"""A row of these is put after the input: a quote that is still open would swallow it."""

_OPEN = 'Close the text with a quote, or write a quote that a text starts with as """.'
_QUOTED = "Put a cell that holds a comma, a quote or a line end between quotes, its quotes doubled."


def csv_batches(source: Input) -> Iterator[Any]:
    """Arrow record batches of text columns, named by the header; ExternalError names the row."""
    names = _header(source)
    if not names:
        return
    done = 0
    for stream in _arriving(source) if source.live else [source.stream]:
        for batch in _parsed(stream, names, source, done):
            done += batch.num_rows
            yield batch


def _header(source: Input) -> list[str]:
    """The columns' names, none of an empty input."""
    _allow_long_cells()
    lines = iter(lambda: source.stream.readline(blocks.BLOCK_BYTES), b"")
    try:
        names = next(csv.reader(_decoded(lines)), [])
    except UnicodeDecodeError as error:
        raise unreadable(source.name, "it is not UTF-8 text", _SAVE) from error
    except (OSError, EOFError, csv.Error) as error:
        raise unreadable(source.name, error) from error
    names = [name.strip() for name in names]
    if not all(names) or len({n.casefold() for n in names}) < len(names):
        shown = ",".join(names)[:80]
        raise unreadable(
            source.name,
            f"its first line does not name the columns: {shown}",
            "Give each column a name of its own in the first line.",
        )
    return names


_SAVE = "Save it as UTF-8, or convert it, such as with iconv."


def _decoded(lines: Iterator[bytes]) -> Iterator[str]:
    encoding = "utf-8-sig"
    for line in lines:
        yield line.decode(encoding)
        encoding = "utf-8"


def _allow_long_cells() -> None:
    csv.field_size_limit(max(csv.field_size_limit(), blocks.BLOCK_BYTES))


def _arriving(source: Input) -> Iterator[io.BytesIO]:
    """Complete records as they arrive. Arrow reads ahead: it would withhold the last records of a
    pipe until more arrive, and could not be interrupted."""
    ready: deque[bytes] = deque()
    taken: list[bytes] = []

    def lines() -> Iterator[str]:
        for block in blocks.line_blocks(source):
            ready.extend(block.splitlines(keepends=True))
            while ready:
                taken.append(line := ready.popleft())
                # Only where records end matters here; a carriage return is Arrow's business.
                yield line.replace(b"\r", b"").decode("latin-1")

    row = 1
    try:
        for cells in csv.reader(lines()):
            row += bool(cells)
            if not ready:
                yield io.BytesIO(b"".join(taken))
                taken.clear()
    except csv.Error as error:
        raise _too_long(source, row + 1) from error


def _parsed(stream: IO[bytes], names: Sequence[str], source: Input, done: int) -> Iterator[Any]:
    """The batches of a stream of whole records; `done`: rows read before it."""
    import pyarrow as pa

    rejected: list[Any] = []
    before, last = done, None
    try:
        for batch in _reader(_Marked(stream, len(names)), names, rejected):
            if last is not None:
                yield last
            done, last = done + batch.num_rows, batch
    except pa.ArrowInvalid as error:
        raise _explained(source, error, rejected, before, done) from error
    except (OSError, EOFError) as error:
        raise unreadable(source.name, error) from error
    assert last is not None, "the end mark is a row at least"
    if last.column(0)[last.num_rows - 1].as_py() != _MARK:
        raise _never_closed(source, done + 1)
    if last.num_rows > 1:
        yield last.slice(0, last.num_rows - 1)


def _reader(marked: _Marked, names: Sequence[str], rejected: list[Any]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    def reject(row: Any) -> str:
        rejected.append(row)
        return "error"

    return arrow_csv.open_csv(
        pa.PythonFile(marked, "r"),
        arrow_csv.ReadOptions(
            column_names=list(names), use_threads=False, block_size=blocks.BLOCK_BYTES
        ),
        arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=reject),
        arrow_csv.ConvertOptions(
            default_column_type=pa.string(),
            null_values=NULLS,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


class _Marked(io.RawIOBase):
    """A stream with the mark as a row of its own after its end."""

    def __init__(self, stream: IO[bytes], columns: int) -> None:
        super().__init__()
        self._stream = stream
        self._mark = ("\n" + ",".join([_MARK] * columns) + "\n").encode()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if data := self._stream.read(size):
            return data
        data, self._mark = self._mark, b""
        return data


def _explained(
    source: Input, error: Exception, rejected: list[Any], before: int, done: int
) -> ExternalError:
    """Explains an Arrow error; rows are numbered with the header as the first. `before`: rows
    before the stream; `done`: rows before the failed batch."""
    text = str(error)
    if "straddling" in text:
        return _too_long(source, done + 2)
    if not rejected:
        place = _PLACE.search(text)
        if place and "UTF8" in text:
            number = before + int(place["row"]) + 1
            return unreadable(source.name, f"row {number} is not UTF-8 text", _SAVE)
        return unreadable(source.name, text)
    row = rejected[0]
    number = before + row.number + 1
    if _MARK in row.text:
        return _never_closed(source, number)
    return unreadable(
        source.name,
        f"row {number} has {row.actual_columns} columns instead of {row.expected_columns}: "
        f"{row.text[:60]}",
        _QUOTED,
    )


_PLACE = re.compile(r"Row #(?P<row>\d+)")


def _never_closed(source: Input, row: int) -> ExternalError:
    return unreadable(source.name, f"the quoted text in row {row} is never closed", _OPEN)


def _too_long(source: Input, row: int) -> ExternalError:
    limit = f"{blocks.BLOCK_BYTES >> 20} MiB"
    return unreadable(
        source.name, f"row {row} is longer than {limit}: a quoted text is not closed", _OPEN
    )
