"""`streamsql verify`: whether what queries have written is what a batch over the log makes."""

from __future__ import annotations

import argparse

from streamsql.cli.execution.engine import READY_SECONDS, make_engine
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import StreamSQLError
from streamsql.results import Warning


def command(args: argparse.Namespace) -> int:
    """The exit code: 0 all is as it should be; 1 something is not, or cannot be verified."""
    renderer = Renderer(args.output or "table")
    code = 0
    # No query runs meanwhile: what is looked at stands still.
    with make_engine(args, until_caught_up=True) as engine:
        engine.wait_until_ready(READY_SECONDS)
        for query_id in args.queries or [query.id for query in engine.queries()]:
            quoted = query_id.upper().replace("`", "``")
            try:
                for result in engine.execute(f"VERIFY QUERY `{quoted}`;"):
                    renderer.show(result)
                    code = max(code, int(isinstance(result, Warning)))
            except StreamSQLError as error:
                renderer.error(error)
                code = max(code, error.exit_code)
    return code
