"""The formats of COPY, text, csv and binary: rows to bytes, and bytes to fields."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from streamsql.postgres.errors import BAD_COPY, NOT_SUPPORTED, WRONG_SETTING, PgError
from streamsql.postgres.forms import Column, RowWriter
from streamsql.postgres.wire.answers import copy_data

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
BINARY_HEAD = SIGNATURE + bytes(8)
BINARY_END = b"\xff\xff"
_TO_ESCAPE = re.compile(rb"[\b\f\n\r\t\v\\]")
_ESCAPES = {
    b"\b": b"\\b",
    b"\f": b"\\f",
    b"\n": b"\\n",
    b"\r": b"\\r",
    b"\t": b"\\t",
    b"\v": b"\\v",
    b"\\": b"\\\\",
}
_UNESCAPES = {escaped[1:]: plain for plain, escaped in _ESCAPES.items()}
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
Cells = list[bytes | None]


@dataclass(frozen=True)
class CopyForm:
    """The form of the rows of a COPY."""

    format: str = "text"
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"
    quote: bytes = b'"'
    escape: bytes = b'"'
    header: bool = False
    zone: tzinfo | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], zone: tzinfo | None = None) -> CopyForm:
        """From COPY's options; PgError for invalid ones."""
        format = options.get("format", "text")
        if format not in ("text", "csv", "binary"):
            raise PgError(WRONG_SETTING, f'COPY format "{format}" not recognized')
        if options.get("encoding", "utf8").lower().replace("-", "") != "utf8":
            raise PgError(NOT_SUPPORTED, "COPY reads and writes UTF-8 only")
        csv = format == "csv"
        quote = options.get("quote", '"')
        given = cls(
            format,
            options.get("delimiter", "," if csv else "\t").encode(),
            options.get("null", "" if csv else "\\N").encode(),
            quote.encode(),
            options.get("escape", quote).encode(),
            options.get("header", "false") in ("true", "on"),
            zone,
        )
        if any(len(sign) != 1 for sign in (given.delimiter, given.quote, given.escape)):
            raise PgError(WRONG_SETTING, "DELIMITER, QUOTE and ESCAPE are a character each")
        return given

    @property
    def code(self) -> int:
        """1 for binary."""
        return int(self.format == "binary")

    # -- out ---------------------------------------------------------------------------------------

    def writer(self, columns: Sequence[Column]) -> RowWriter:
        """From a row's values to a CopyData message."""
        writers = [column.writer(self.code, self.zone) for column in columns]

        # The header is sent with the first rows: clients rely on it.
        head = [self.head(columns)]

        def write(values: Sequence[object]) -> bytes:
            cells = zip(writers, values, strict=True)
            line = self.line([None if v is None else w(v) for w, v in cells])
            return copy_data(head.pop() + line if head else line)

        return write

    def head(self, columns: Sequence[Column]) -> bytes:
        if self.code:
            return BINARY_HEAD
        return self.line([column.name.encode() for column in columns]) if self.header else b""

    @property
    def end(self) -> bytes:
        return BINARY_END if self.code else b""

    def line(self, cells: Sequence[bytes | None]) -> bytes:
        if self.code:
            parts = [struct.pack("!h", len(cells))]
            for cell in cells:
                parts.append(struct.pack("!i", -1 if cell is None else len(cell)) + (cell or b""))
            return b"".join(parts)
        write = self._quoted if self.format == "csv" else self._escaped
        return self.delimiter.join(self.null if c is None else write(c) for c in cells) + b"\n"

    def _escaped(self, cell: bytes) -> bytes:
        escaped = _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], cell)
        if self.delimiter != b"\t":
            escaped = escaped.replace(self.delimiter, b"\\" + self.delimiter)
        return escaped

    def _quoted(self, cell: bytes) -> bytes:
        special = (self.delimiter, self.quote, b"\n", b"\r")
        if cell != self.null and cell != b"\\." and not any(sign in cell for sign in special):
            return cell
        if self.escape != self.quote:
            cell = cell.replace(self.escape, self.escape * 2)
        return self.quote + cell.replace(self.quote, self.escape + self.quote) + self.quote


class CopyReader:
    """Parses rows from received bytes. Rows have the width that the client writes."""

    def __init__(self, form: CopyForm, bound: int) -> None:
        self._form = form
        self._bound = bound
        self._rest = b""
        self._to_skip = form.header and not form.code
        self._begun = False
        self.lines = 0
        """Rows so far, with the header."""

    def feed(self, data: bytes, *, last: bool = False) -> Iterator[Cells]:
        """The complete rows received so far."""
        self._rest += data
        rows = self._binary(last) if self._form.code else self._texts(last)
        for cells in rows:
            self.lines += 1
            if self._to_skip:
                self._to_skip = False
                continue
            yield cells
        if len(self._rest) > self._bound:
            raise PgError(BAD_COPY, f"a row of more than {self._bound} bytes")

    def _texts(self, last: bool) -> Iterator[Cells]:
        csv = self._form.format == "csv"
        split = self._csv_end if csv else self._text_end
        at = 0
        while (end := split(at, last)) is not None:
            line = self._rest[at:end].removesuffix(b"\n").removesuffix(b"\r")
            at = end
            if line == b"\\.":
                at = len(self._rest)
                break
            yield self._csv_cells(line) if csv else self._text_cells(line)
        self._rest = self._rest[at:]

    def _text_end(self, at: int, last: bool) -> int | None:
        end = self._rest.find(b"\n", at)
        if end >= 0:
            return end + 1
        return len(self._rest) if last and at < len(self._rest) else None

    def _csv_end(self, at: int, last: bool) -> int | None:
        """The end of a line outside of quotes."""
        start = at
        while True:
            end = self._rest.find(b"\n", start)
            if end < 0:
                break
            if self._rest.count(self._form.quote, at, end) % 2 == 0:
                return end + 1
            start = end + 1
        if not last or at >= len(self._rest):
            return None
        if self._rest.count(self._form.quote, at) % 2:
            raise PgError(BAD_COPY, "unterminated CSV quoted field")
        return len(self._rest)

    def _text_cells(self, line: bytes) -> Cells:
        cells: Cells = []
        pattern = re.compile(rb"(?:\\.|[^\\" + re.escape(self._form.delimiter) + rb"])*", re.DOTALL)
        at = 0
        while True:
            found = pattern.match(line, at)
            assert found is not None
            written = found[0]
            plain = None if written == self._form.null else _ESCAPED.sub(_unescaped, written)
            cells.append(plain)
            at = found.end()
            if at >= len(line):
                return cells
            if line[at : at + 1] != self._form.delimiter:
                raise PgError(BAD_COPY, "a line ends in a backslash")
            at += 1

    def _csv_cells(self, line: bytes) -> Cells:
        quote, escape = self._form.quote, self._form.escape
        cells: Cells = []
        at = 0
        while True:
            cell, quoted = b"", False
            while at < len(line) and line[at : at + 1] != self._form.delimiter:
                sign = line[at : at + 1]
                at += 1
                if sign != quote:
                    cell += sign
                    continue
                quoted = True
                while True:
                    sign, following = line[at : at + 1], line[at + 1 : at + 2]
                    if not sign:
                        raise PgError(BAD_COPY, "unterminated CSV quoted field")
                    if sign == escape and following in (quote, escape) and following:
                        cell += following
                        at += 2
                    elif sign == quote:
                        at += 1
                        break
                    else:
                        cell += sign
                        at += 1
            cells.append(None if cell == self._form.null and not quoted else cell)
            if at >= len(line):
                return cells
            at += 1

    def _binary(self, last: bool) -> Iterator[Cells]:
        if not self._begun:
            if len(self._rest) < 19:
                if last:
                    raise PgError(BAD_COPY, "COPY file signature not recognized")
                return
            if not self._rest.startswith(SIGNATURE):
                raise PgError(BAD_COPY, "COPY file signature not recognized")
            (extension,) = struct.unpack("!I", self._rest[15:19])
            if len(self._rest) < 19 + extension:
                return
            self._rest = self._rest[19 + extension :]
            self._begun = True
        while (row := self._binary_row()) is not None:
            cells, end = row
            self._rest = self._rest[end:]
            if cells is None:
                self._rest = b""
                return
            yield cells
        if last and self._rest:
            raise PgError(BAD_COPY, "unexpected EOF in COPY data")

    def _binary_row(self) -> tuple[Cells | None, int] | None:
        data = self._rest
        if len(data) < 2:
            return None
        (count,) = struct.unpack("!h", data[:2])
        if count == -1:
            return None, 2
        at, cells = 2, []
        for _ in range(count):
            if len(data) < at + 4:
                return None
            (length,) = struct.unpack("!i", data[at : at + 4])
            at += 4
            if length > self._bound:
                raise PgError(BAD_COPY, f"a field of more than {self._bound} bytes")
            if length >= 0 and len(data) < at + length:
                return None
            cells.append(None if length < 0 else data[at : at + length])
            at += max(0, length)
        return cells, at


def _unescaped(found: re.Match[bytes]) -> bytes:
    sign = found[1]
    if sign in _UNESCAPES:
        return _UNESCAPES[sign]
    if sign[:1] == b"x" and len(sign) > 1:
        return bytes([int(sign[1:], 16)])
    if sign[:1].isdigit() and all(48 <= digit < 56 for digit in sign):
        return bytes([int(sign, 8) & 0xFF])
    return sign
