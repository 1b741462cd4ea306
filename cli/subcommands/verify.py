"""`streamsql verify`: whether what queries have written is what a batch over the log makes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from streamsql.api.changing import UNCHANGED
from streamsql.api.changing_log import plan_of_log
from streamsql.cli.execution.engine import READY_SECONDS, engine_config, make_engine
from streamsql.cli.options.parser import assignments
from streamsql.cli.subcommands.plan import read_texts
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.results import Warning
from streamsql.status import QueryInfo


def command(args: argparse.Namespace) -> int:
    """The exit code: 0 all is as it should be; 1 something is not, or cannot be verified."""
    paths = [name for name in args.queries if _is_path(name)]
    ids = [name.upper() for name in args.queries if name not in paths]
    is_made_by_files = _made_by(paths, args) if paths else _none
    renderer = Renderer(args.output or "table")
    code = 0
    # No query runs meanwhile, so the topics do not change.
    with make_engine(args, until_caught_up=True) as engine:
        engine.wait_until_ready(READY_SECONDS)
        ids += [q.id for q in engine.queries() if is_made_by_files(q) or not args.queries]
        for query_id in dict.fromkeys(ids):
            quoted = query_id.replace("`", "``")
            try:
                for result in engine.execute(f"VERIFY QUERY `{quoted}`;"):
                    renderer.show(result)
                    code = max(code, int(isinstance(result, Warning)))
            except StreamSQLError as error:
                renderer.error(error)
                code = max(code, error.exit_code)
    return code


def _is_path(name: str) -> bool:
    """Whether files are meant, and no query."""
    return name.endswith((".sql", "/")) or Path(name).expanduser().exists()


def _none(query: QueryInfo) -> bool:
    return False


def _made_by(paths: list[str], args: argparse.Namespace) -> Callable[[QueryInfo], bool]:
    """Whether the files define a query. ConfigError if the running pipeline differs from them; a
    StreamSQLError for an invalid statement."""
    variables = assignments(args.define, "--define")
    found = plan_of_log(engine_config(args), read_texts(paths), variables, prune=False)
    if found.errors:
        raise found.errors[0]
    if found.changes:
        names = ", ".join(item.name for item in found.changes)
        raise ConfigError(
            f"the running pipeline differs from the files: {names}",
            hint="`streamsql plan` shows the differences, and `streamsql apply` applies them.",
        )
    made = {item.name for item in found.items if item.action == UNCHANGED}
    others = {item.name for item in found.items if item.action != UNCHANGED}
    return lambda query: query.id in made or (query.sink in made and query.id not in others)
