"""`streamsql -e`, `streamsql run` and statements from a pipe: no prompt, one exit code."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import make_engine
from streamsql.cli.execution.execution import Executes, Interrupted, Waiting, run
from streamsql.cli.options.parser import assignments
from streamsql.cli.subcommands.check import display_name, read_script
from streamsql.cli.terminal.identity import INTERRUPTED
from streamsql.cli.terminal.progress import Bar, waiting
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import StreamSQLError
from streamsql.results import Result

if TYPE_CHECKING:
    from streamsql.api.checking import NamedText
    from streamsql.cli.execution.connection import Connection
    from streamsql.engine import Engine
    from streamsql.status import QueryInfo

WATCH_SECONDS = 0.5


def execute(args: argparse.Namespace) -> int:
    """`-e`: run the statements, show their results, end."""
    renderer = Renderer(args.output or "table")
    with make_engine(args) as engine:
        for sql in args.execute:
            code = run_text(engine, sql, renderer, args.debug)
            if code:
                return code
    return 0


def run_files(args: argparse.Namespace) -> int:
    """`run`: the files' statements, then their queries until Ctrl-C or until caught up."""
    from streamsql.api.checking import NamedText

    renderer = Renderer(args.output or "table")
    scripts = [NamedText(display_name(name), read_script(name)) for name in args.files]
    variables = assignments(args.define, "--define")
    with make_engine(args, until_caught_up=args.until_caught_up) as engine:
        files = _Files(engine, scripts, variables)
        code = _shown(files, "", renderer, partial(waiting, engine.startup), args.debug)
        if code:
            return code
        if args.until_caught_up:
            _catch_up(engine, renderer)
            return 0
        return _keep_running(engine, renderer)


def run_text(
    engine: Connection, sql: str, renderer: Renderer, debug: bool, file: str | None = None
) -> int:
    """Run statements; an error is shown with its place in the text and gives the exit code."""
    return _shown(engine, sql, renderer, partial(waiting, engine.startup), debug, file)


@dataclass(frozen=True)
class _Files:
    """Files as a text of statements that is run where they have not already been run."""

    engine: Engine
    scripts: Sequence[NamedText]
    variables: Mapping[str, str]

    def execute(self, sql: str) -> Iterator[Result]:
        return self.engine.run_files(self.scripts, self.variables)


def _shown(
    engine: Executes,
    sql: str,
    renderer: Renderer,
    wait: Waiting,
    debug: bool,
    file: str | None = None,
) -> int:
    try:
        run(engine, sql, renderer, wait)
    except Interrupted:
        return INTERRUPTED
    except StreamSQLError as error:
        if debug:
            raise
        renderer.error(error, sql, file)
        return error.exit_code
    return 0


def _catch_up(engine: Engine, renderer: Renderer) -> None:
    """Processes the backlog, with a progress bar."""
    with Bar("Catching up", "records") as bar:

        def show(done: int, total: int) -> None:
            bar.update(done, done / total if total else 1.0)

        engine.catch_up(show)
    count = len(engine.queries())
    renderer.remark(renderer.style.good(f"{_count(count, 'query', 'queries')} caught up"))


def _keep_running(engine: Engine, renderer: Renderer) -> int:
    """Monitors the queries until Ctrl-C or SIGTERM; reports failures as they happen."""
    told: dict[str, str | None] = {}
    if not _persistent(engine):
        renderer.remark(renderer.style.dim("No queries to keep running."))
        return 0
    running = _count(len(_persistent(engine)), "query", "queries")
    renderer.remark(renderer.style.dim(f"{running} running. Ctrl-C ends."))
    try:
        while True:
            for query in _persistent(engine):
                if query.error and told.get(query.id) != query.error:
                    renderer.write(
                        [renderer.style.error(f"query {query.id} failed: {query.error}")],
                        sys.stderr,
                    )
                told[query.id] = query.error
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        renderer.remark(renderer.style.dim("Stopping."))
        return 0


def _persistent(engine: Engine) -> list[QueryInfo]:
    return [query for query in engine.queries() if query.kind == "PERSISTENT"]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
