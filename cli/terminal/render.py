"""Results and errors onto the terminal, as tables, JSON or CSV, and into the spool file."""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

from streamsql import errors
from streamsql.cli.terminal.style import Style
from streamsql.cli.terminal.table import Layout, complete_table, header, live_layout, live_row
from streamsql.cli.terminal.values import printable, row_to_json, to_csv
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.results import Field, Message, Result, Row, Rows, Text, Value, Warning

FORMATS = ("table", "json", "csv")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
DEFAULT_SIZE = (100, 24)


class Renderer:
    """Writes results to `out` and remarks to `err`, in one of FORMATS.

    Standard output holds data only when the format is json or csv: messages go to `err` then.
    """

    def __init__(
        self,
        output: str = "table",
        out: TextIO | None = None,
        err: TextIO | None = None,
        *,
        style: Style | None = None,
        width: int | None = None,
    ) -> None:
        self.output = output
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.style = style or Style.of(self.out)
        self.column_width = 0
        """Of SET CLI COLUMN-WIDTH; 0 fits columns to what they hold."""
        self._width = width
        self._spool: TextIO | None = None

    @property
    def size(self) -> tuple[int, int]:
        columns, lines = shutil.get_terminal_size(DEFAULT_SIZE)
        return self._width or columns, lines

    def spool(self, path: str | None) -> None:
        """Write everything to a file too, until None; ConfigError if it cannot be opened."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        if path is not None:
            try:
                self._spool = open(path, "a", encoding="utf-8")
            except OSError as error:
                raise ConfigError(f"cannot write to {path}: {error.strerror}") from error

    def write(self, lines: Iterable[str], stream: TextIO | None = None) -> None:
        text = "".join(line + "\n" for line in lines)
        target = stream or self.out
        target.write(text)
        target.flush()
        self.note(text)

    def note(self, text: str) -> None:
        """Text for the spool file only, such as the input."""
        if self._spool is not None:
            self._spool.write(_ESCAPES.sub("", text))
            self._spool.flush()

    def remark(self, text: str) -> None:
        """A line for the user, not part of the data."""
        self.write([text], None if self.output == "table" else self.err)

    def show(self, result: Result) -> None:
        """A complete result; streams are shown row by row through `rows`."""
        match result:
            case Message():
                if result.text:
                    self.remark(self.style.good(result.text))
            case Warning():
                self.remark(self.style.warning(f"Warning: {result.text}"))
            case Text():
                self.write([*self._fitted(result.text), ""])
            case Rows():
                self._show_rows(result)

    def _fitted(self, text: str) -> list[str]:
        """Lines of text; on a terminal long ones are broken at blanks, below where they began."""
        if not self.out.isatty():
            return text.splitlines()
        lines = []
        for line in text.splitlines():
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            lines += textwrap.wrap(
                line,
                self.size[0] - 1,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
                replace_whitespace=False,
                drop_whitespace=True,
            ) or [""]
        return lines

    def _show_rows(self, result: Rows) -> None:
        if self.output != "table":
            self.write(self.data_header(result.fields))
            self.write(self.data_row(result.fields, row) for row in result.rows)
            return
        lines = ["", f" {self.style.title(result.title)}", ""] if result.title else []
        if result.fields:
            lines += complete_table(
                result.fields, result.rows, self.size[0], self.style, self.column_width
            )
        if not result.rows:
            lines.append(self.style.dim(" (none)"))
        self.write([*lines, ""])

    def data_header(self, fields: Sequence[Field]) -> list[str]:
        return [_csv_line([field.name for field in fields])] if self.output == "csv" else []

    def data_row(self, fields: Sequence[Field], values: Sequence[Value]) -> str:
        if self.output == "json":
            return row_to_json(fields, values)
        return _csv_line([to_csv(value) for value in values])

    def rows(self, fields: Sequence[Field]) -> RowWriter:
        return RowWriter(self, fields)

    def error(self, error: StreamSQLError, sql: str | None = None, file: str | None = None) -> None:
        """An error as a user reads it, with the place and a caret."""
        style = Style(self.style.colour) if self.err is self.out else Style.of(self.err)
        self.write(error_lines(error, sql, file, style), self.err)


def error_lines(
    error: StreamSQLError, sql: str | None, file: str | None, style: Style
) -> list[str]:
    """The lines of `errors.render` in colors: error, position, hint."""
    lines = errors.render(error, sql, file).splitlines()
    painted = []
    for number, line in enumerate(lines):
        if number == 0:
            label, separator, rest = line.partition(f"{error.kind}")
            painted.append(f"{label}{style.error(separator)}{rest}")
        elif line.strip() and not line.strip("^ \t"):
            painted.append(style.error(line))
        elif line.startswith("Hint:"):
            painted.append(style.hint(line))
        else:
            painted.append(line)
    return painted


class RowWriter:
    """The rows of one push query; the header is repeated on each screen of rows."""

    def __init__(self, renderer: Renderer, fields: Sequence[Field]) -> None:
        self._renderer = renderer
        self._fields = fields
        self._layout: Layout | None = None
        self._since_header = 0
        self._seen: list[Row] = []
        self.count = 0
        if renderer.output == "table":
            self._begin([])
        else:
            renderer.write(renderer.data_header(fields))

    def write(self, rows: Sequence[Row]) -> None:
        renderer = self._renderer
        self.count += len(rows)
        if renderer.output != "table":
            renderer.write(renderer.data_row(self._fields, row.values) for row in rows)
            return
        width, height = renderer.size
        lines: list[str] = []
        for row in rows:
            assert self._layout is not None
            if self._since_header >= max(height - 3, 10) and not self._layout.vertical:
                renderer.write(lines)
                lines = []
                self._begin(self._seen)
            lines += live_row(self._fields, row, self._layout, width, renderer.style)
            self._since_header += 1
            self._seen = [*self._seen[-50:], row]
        renderer.write(lines)

    def _begin(self, seen: Sequence[Row]) -> None:
        """Widths and header; at a new screen the widths follow what has been seen."""
        renderer = self._renderer
        self._layout = live_layout(self._fields, renderer.size[0], seen, renderer.column_width)
        self._since_header = 0
        if not self._layout.vertical:
            renderer.write(header(self._fields, self._layout, renderer.style))


def record_line(line: str) -> str:
    """A line of PRINT, with nothing in it that commands the terminal."""
    return printable(line)


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()
