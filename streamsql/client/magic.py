"""`%streamsql` and `%%streamsql` in IPython and Jupyter: SQL in a cell, its rows below it.

    %load_ext streamsql
    %streamsql http://localhost:8088

    %%streamsql
    SELECT * FROM orders EMIT CHANGES LIMIT 5;

IPython itself is not imported here: it calls `register` and gives itself.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from streamsql.client.connection import Connection, connect
from streamsql.client.result import QueryResult
from streamsql.errors import ConfigError, StreamSQLError, render

PUSH_ROWS = 1000
"""Rows of a push query without a LIMIT after which a cell ends."""


def register(shell: Any) -> None:
    """Make the magics known to a shell of IPython."""
    magic = Magic(shell)
    shell.register_magic_function(magic.line, "line", "streamsql")
    shell.register_magic_function(magic.cell, "cell", "streamsql")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise ConfigError(f"%streamsql: {message}", hint=self.format_usage().strip())


class Magic:
    """The connection of one notebook, and what its cells may say."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: Connection | None = None

    def line(self, line: str) -> QueryResult | None:
        """`%streamsql URL [-u USER -p PASSWORD]` connects, `%streamsql --embedded` starts an engine
        here, `%streamsql close` ends either; anything else is a statement."""
        return self._guarded(self._line, line)

    def cell(self, line: str, cell: str) -> QueryResult | None:
        """`%%streamsql [-o NAME] [-n ROWS]`: run the cell; NAME is a variable for its result."""
        return self._guarded(self._cell, line, cell)

    def _guarded(self, work: Any, *arguments: str) -> QueryResult | None:
        """Shows errors like the shell, without a stack trace."""
        try:
            result: QueryResult | None = work(*arguments)
            return result
        except StreamSQLError as error:
            print(render(error), file=sys.stderr)
            return None

    def _line(self, line: str) -> QueryResult | None:
        words = shlex.split(line)
        if words == ["close"]:
            self._leave()
            return None
        if words and (words[0] == "--embedded" or "://" in words[0]):
            self._connect(words)
            return None
        return _settled(self._connected().sql(line), PUSH_ROWS)

    def _cell(self, line: str, cell: str) -> QueryResult | None:
        parser = _Parser("%%streamsql", add_help=False)
        parser.add_argument("-o", "--output", metavar="NAME")
        parser.add_argument("-n", "--rows", metavar="ROWS", type=int, default=PUSH_ROWS)
        options = parser.parse_args(shlex.split(line))
        result = _settled(self._connected().sql(cell), options.rows)
        if options.output:
            self._shell.user_ns[options.output] = result
            return None
        return result

    def _connect(self, words: list[str]) -> None:
        parser = _Parser("%streamsql", add_help=False)
        parser.add_argument("url", nargs="?")
        parser.add_argument("--embedded", action="store_true")
        parser.add_argument("--data")
        parser.add_argument("-u", "--user")
        parser.add_argument("-p", "--password")
        parser.add_argument("--ca-file")
        options = parser.parse_args(words)
        self._leave()
        self._connection = connect(
            options.url,
            user=options.user,
            password=options.password,
            ca_file=options.ca_file,
            data=options.data,
        )

    def _connected(self) -> Connection:
        if self._connection is None:
            raise ConfigError("not connected", hint="%streamsql http://localhost:8088 connects.")
        return self._connection

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _settled(result: QueryResult, most: int) -> QueryResult:
    """The result with its rows; a push query ends at the limit, or when it is interrupted."""
    if result.is_push:
        result.fetch(most)
    return result
