"""`streamsql server --queries-file`: the file's statements, run beside the server that starts."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamsql.cli.subcommands.check import display_name, read_script
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import StreamSQLError

if TYPE_CHECKING:
    from streamsql.engine import Engine


class QueriesFile:
    """A file that takes the place of interactive statements."""

    def __init__(self, name: str, variables: Mapping[str, str]) -> None:
        """Raises whatever can be seen to be wrong with it before anything is started."""
        from streamsql.api.checking import NamedText, check_queries_file

        self._text = NamedText(display_name(name), read_script(name))
        self._variables = dict(variables)
        check_queries_file(self._text, self._variables)
        self._thread: threading.Thread | None = None
        self.exit_code = 0

    def run(self, engine: Engine) -> None:
        """Begin; returns at once. An error ends the server, whose exit code then tells of it."""
        self._thread = threading.Thread(
            target=self._run, args=(engine,), name="queries file", daemon=True
        )
        self._thread.start()

    def _run(self, engine: Engine) -> None:
        renderer = Renderer(out=sys.stderr)
        try:
            for result in engine.run_files([self._text], self._variables, whole=True):
                renderer.show(result)
        except StreamSQLError as error:
            renderer.error(error, file=self._text.name)
            self.exit_code = error.exit_code
            os.kill(os.getpid(), signal.SIGTERM)
