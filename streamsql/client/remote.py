"""A server as if it were an engine here: `execute`, `catalog`, `queries`, `startup`, `session`.

Statements are sent as text; what they give comes back line by line. Only RUN SCRIPT is seen to
here, since its file is on this side. What is SET and DEFINEd is kept here, and sent with each text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from streamsql.catalog import Catalog
from streamsql.client.scripts import Piece, pieces
from streamsql.client.transport import Address, Lines, Transport
from streamsql.client.watch import Watch
from streamsql.client.wire import (
    decode_complete,
    decode_error,
    decode_fields,
    decode_row,
    decode_schema,
    row_decoders,
)
from streamsql.errors import ConfigError, InternalError
from streamsql.properties import VARIABLE_SUBSTITUTION, get_bool
from streamsql.results import Answer, LineStream, Result, Row, RowStream
from streamsql.session import Session
from streamsql.status import QueryInfo, StartupStatus

EXECUTE = "/streamsql/execute"


class RemoteEngine:
    """A connection to a server; may be used from several threads."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.session = Session(remote=True)
        self._transport = Transport(address)
        self._watch = Watch(self._transport)
        self._open = False

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Reach the server; ExternalError where there is none, ConfigError where it refuses."""
        self._watch.look()
        self._open = True

    def close(self) -> None:
        """Leave the server; what runs there goes on."""
        self._open = False
        self._watch.close()
        self._transport.close()

    def __enter__(self) -> RemoteEngine:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- what there is ---------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """The server's."""
        return self._watch.version

    def startup(self) -> StartupStatus:
        """How far the server's start is, as it last said."""
        return self._watch.startup()

    def queries(self) -> list[QueryInfo]:
        """The server's queries, as it last said."""
        return self._watch.queries()

    def catalog(self) -> Catalog:
        """The server's catalog, as it last said."""
        return self._watch.catalog()

    # -- statements ------------------------------------------------------------------------------

    def execute(self, sql: str, session: Session | None = None) -> Iterator[Result]:
        """Run the statements of a text one after the other, as Engine.execute does."""
        yield from self._execute(sql, session or self.session, ())

    def _execute(self, sql: str, session: Session, scripts: tuple[str, ...]) -> Iterator[Result]:
        """`scripts` are those that are being run, the innermost last."""
        if not self._open:
            raise ConfigError("the connection is closed")
        substitution = get_bool(session.properties, VARIABLE_SUBSTITUTION)
        for piece in pieces(sql, session.variables if substitution else None):
            if piece.script is None:
                yield from self._send(piece, sql, session)
            else:
                yield from self._script(piece.script, session, scripts)

    def _script(self, path: str, session: Session, scripts: tuple[str, ...]) -> Iterator[Result]:
        file = Path(path).expanduser().absolute()
        if str(file) in scripts:
            raise ConfigError(f"the script {path} runs itself")
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigError(f"cannot read the script {path}: {reason}") from None
        for result in self._execute(text, session, (*scripts, str(file))):
            yield result
            if isinstance(result, RowStream | LineStream):
                result.cancel()

    def _send(self, piece: Piece, sql: str, session: Session) -> Iterator[Result]:
        body = {
            "sql": piece.text,
            "properties": session.properties,
            "variables": session.variables,
        }
        answer = Received(self._transport.stream(EXECUTE, body), sql, session)
        try:
            yield from answer.results()
        finally:
            answer.close()
            self._watch.hurry()


class Received:
    """The answer to one text: its lines as results, and what they change in the session."""

    def __init__(self, lines: Lines, sql: str, session: Session) -> None:
        self._source = lines
        self._lines = iter(lines)
        self._sql = sql
        self._session = session
        self._cancelled = False
        self._complete = False
        self._between = True
        """No rows are to come before the next result."""

    def cancel(self) -> None:
        """End it, from any thread."""
        self._cancelled = True
        self._source.close()

    def close(self) -> None:
        if self._complete:
            self._source.finish()
        else:
            self._source.dispose()

    def results(self) -> Iterator[Result]:
        """The results in their order; the rows of one must be read before the next is asked for,
        or are skipped."""
        while (line := self._next()) is not None:
            yield self._result(line)
            while not self._between and self._item() is not None:
                pass

    def _next(self) -> dict[str, Any] | None:
        """The next line that begins a result; None at the end. Raises the error of a statement."""
        for line in self._lines:
            match line["type"]:
                case "alive":
                    continue
                case "session":
                    self._change_session(line)
                case "done":
                    self._complete = True
                    return None
                case "error":
                    self._complete = True
                    raise decode_error(line, self._sql)
                case _:
                    found: dict[str, Any] = line
                    return found
        return None

    def _result(self, line: dict[str, Any]) -> Result:
        complete = decode_complete(line)
        if complete is not None:
            return complete
        self._between = False
        match line["type"]:
            case "row_stream":
                fields = decode_fields(line["fields"])
                stream = RowStream(line["query_id"], fields, iter(()), self)
                stream.rows = self._rows(stream)
                return stream
            case "answer":
                answer = Answer(line["query_id"], decode_schema(line["columns"]), ())
                answer.rows = self._rows(answer)
                return answer
            case "line_stream":
                lines = LineStream(iter(()), self)
                lines.lines = self._text(lines)
                return lines
        raise InternalError(f"the server sent a result of an unknown type: {line['type']}")

    def _rows(self, result: RowStream | Answer) -> Iterator[Row]:
        codecs = row_decoders(result.fields)
        while (item := self._item(result)) is not None:
            yield decode_row(codecs, item)

    def _text(self, result: LineStream) -> Iterator[str]:
        while (item := self._item(result)) is not None:
            yield item

    def _item(self, result: RowStream | Answer | LineStream | None = None) -> Any | None:
        """The next row or text; None at the end, which may leave a message in `result`."""
        if self._between:
            return None
        for item in self._lines:
            if not isinstance(item, dict) or "tombstone" in item:
                return item
            match item["type"]:
                case "end":
                    self._between = True
                    if result is not None:
                        result.final_message = item["final_message"]
                    return None
                case "error":
                    self._complete = self._between = True
                    raise decode_error(item, self._sql)
        self._between = True
        return None

    def _change_session(self, line: dict[str, Any]) -> None:
        session = self._session
        session.properties.update(line["set"])
        session.variables.update(line["define"])
        for name in line["unset"]:
            session.properties.pop(name, None)
        for name in line["undefine"]:
            session.variables.pop(name, None)
