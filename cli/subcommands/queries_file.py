"""`streamsql server --queries-file`: runs the file's statements while the server starts."""

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
        """Raises the errors of the file that are detectable without an engine."""
        from streamsql.api.checking import NamedText, check_queries_file

        self._text = NamedText(display_name(name), read_script(name))
        self._variables = dict(variables)
        check_queries_file(self._text, self._variables)
        self._thread: threading.Thread | None = None
        self.exit_code = 0

    def run(self, engine: Engine) -> None:
        """Starts in the background. An error ends the server with its exit code."""
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
