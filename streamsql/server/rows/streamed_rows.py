"""Forms of continuous rows: header, rows, separators and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from streamsql.results import Progress, Row
from streamsql.schema import Schema
from streamsql.server.http.errors import Failure
from streamsql.server.http.media import DELIMITED, JSON, KSQL_JSON, PROTOBUF
from streamsql.server.rows.json_values import ColumnTexts, json_text, said_of_columns
from streamsql.server.rows.protobuf import RowMessages

ENDED = "Query Ended"
"""Message of a push query that ended before its limit."""


def progress_text(progress: Progress) -> str:
    """An epoch whose rows have all been sent."""
    return json_text({"progress": {"epoch": progress.epoch, "time": progress.time}})


class Form(ABC):
    """Writes one query's response. `push`: rows arrive one by one."""

    media_type: str
    row_by_row = False
    """Whether every row is sent separately: some clients parse frame by frame."""

    def __init__(self, query_id: str | None, schema: Schema, push: bool) -> None:
        self.query_id = query_id
        self.schema = schema
        self.push = push

    @abstractmethod
    def head(self) -> str: ...

    @abstractmethod
    def row(self, row: Row) -> str: ...

    @abstractmethod
    def progress(self, progress: Progress) -> str: ...

    @abstractmethod
    def end(self, final_message: str | None) -> str: ...

    @abstractmethod
    def failed(self, failure: Failure) -> str: ...


class StreamedRows(Form):
    """ksqlDB's form: an array of objects, one per line, each with its kind. A push query's row is
    followed by its comma, so that line readers get complete rows; the last element is always an
    object."""

    media_type = KSQL_JSON

    def __init__(self, query_id: str | None, schema: Schema, push: bool) -> None:
        super().__init__(query_id, schema, push)
        self._before, self._after = ("", ",\n") if push else (",\n", "")
        self._row = self._row_writer()

    def _row_writer(self) -> Any:
        cells = ColumnTexts.of(self.schema).write

        def write(row: Row) -> str:
            tombstone = ',"tombstone":true' if row.tombstone else ""
            return f'{{"row":{{"columns":{cells(row.values)}{tombstone}}}}}'

        return write

    def header(self) -> dict[str, Any]:
        return {"queryId": self.query_id, "schema": str(self.schema)}

    def head(self) -> str:
        header = {name: value for name, value in self.header().items() if value is not None}
        return "[" + json_text({"header": header}) + self._after

    def row(self, row: Row) -> str:
        return f"{self._before}{self._row(row)}{self._after}"

    def progress(self, progress: Progress) -> str:
        return f"{self._before}{progress_text(progress)}{self._after}"

    def end(self, final_message: str | None) -> str:
        message = final_message or (ENDED if self.push else None)
        if message is None:
            return "]\n"
        return self._before + json_text({"finalMessage": message}) + "]\n"

    def failed(self, failure: Failure) -> str:
        return self._before + json_text({"errorMessage": failure.body}) + "]\n"


class ProtobufRows(StreamedRows):
    """The same with each row as a Protobuf message in base64; the header has its schema."""

    media_type = PROTOBUF

    def _row_writer(self) -> Any:
        self._messages = RowMessages(self.schema)

        def write(row: Row) -> str:
            tombstone = ',"tombstone":true' if row.tombstone else ""
            text = self._messages.base64(row.values)
            return f'{{"row":{{"protobufBytes":"{text}"{tombstone}}}}}'

        return write

    def header(self) -> dict[str, Any]:
        return {"queryId": self.query_id, "protoSchema": self._messages.proto}


class DelimitedRows(Form):
    """One JSON value per line: names and types, then an array per row. An object is progress, or
    an error."""

    media_type = DELIMITED
    row_by_row = True

    def __init__(self, query_id: str | None, schema: Schema, push: bool) -> None:
        super().__init__(query_id, schema, push)
        self._columns = ColumnTexts.of(schema)
        self._cells = self._columns.write

    def head(self) -> str:
        known = self._columns
        if not self.push:
            return known.about + "\n"
        return json_text(said_of_columns(self.query_id, known.names, known.types)) + "\n"

    def row(self, row: Row) -> str:
        return self._cells(row.values) + "\n"

    def progress(self, progress: Progress) -> str:
        return progress_text(progress) + "\n"

    def end(self, final_message: str | None) -> str:
        return ""

    def failed(self, failure: Failure) -> str:
        return json_text(failure.body) + "\n"


class JsonRows(DelimitedRows):
    """The same as one JSON array."""

    media_type = JSON
    row_by_row = False

    def head(self) -> str:
        return "[" + super().head().rstrip("\n")

    def row(self, row: Row) -> str:
        return ",\n" + self._cells(row.values)

    def progress(self, progress: Progress) -> str:
        return ",\n" + progress_text(progress)

    def end(self, final_message: str | None) -> str:
        return "]\n"

    def failed(self, failure: Failure) -> str:
        return ",\n" + json_text(failure.body) + "]\n"


FORMS: dict[str, type[Form]] = {
    form.media_type: form for form in (StreamedRows, ProtobufRows, DelimitedRows, JsonRows)
}
