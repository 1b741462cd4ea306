"""The `streamsql` command: finds the handler, and turns errors into messages and exit codes.

Exit codes: 0 done; 1 the user's error; 2 Kafka, Spark or a file failed; 3 a bug; 130 interrupted.
Handlers are imported when they are called: a check must not wait for what only the shell needs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FrameType

from streamsql.cli.options.parser import build_parser
from streamsql.cli.terminal.identity import INTERRUPTED, version_line
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import InternalError, StreamSQLError
from streamsql.installed import not_installed


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (without the program's name), and its exit code."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.version:
        print(version_line())
        return 0
    if args.execute is not None:
        args.handler = "subcommands.run:execute"
    if args.postgres and args.handler not in _WITH_POSTGRES:
        parser.error("--postgres is an option of the shell and of `streamsql server`")
    return guarded(_handler(args.handler), args)


_WITH_POSTGRES = ("shell.shell:command", "subcommands.server:command")
Handler = Callable[[argparse.Namespace], int]


def _handler(name: str) -> Handler:
    module, _, function = name.partition(":")

    def call(args: argparse.Namespace) -> int:
        handler: Handler = getattr(import_module(f"streamsql.cli.{module}"), function)
        return handler(args)

    return call


def guarded(handler: Handler, args: argparse.Namespace) -> int:
    """Call a handler; whatever it raises becomes a message and an exit code."""
    signal.signal(signal.SIGTERM, _terminated)
    if not args.debug:
        # Warnings of libraries for programmers are not shown to users.
        warnings.simplefilter("ignore")
    try:
        return handler(args)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has exited: nothing can be written, nor flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except StreamSQLError as error:
        failure = error
    except Exception as error:
        failure = _unexpected(error)
        failure.__cause__ = error
    return report(failure, debug=args.debug)


def _unexpected(error: Exception) -> StreamSQLError:
    """The engine that is not installed, or a bug."""
    missing = not_installed(error) if isinstance(error, ModuleNotFoundError) else None
    return missing or InternalError(
        f"{type(error).__name__}: {error}",
        hint="Run it again with --debug for the stack trace, and report it.",
    )


def report(error: Exception, *, debug: bool) -> int:
    """Show an error on standard error, with its origin if `debug`, and its exit code."""
    assert isinstance(error, StreamSQLError)
    if debug:
        import traceback

        traceback.print_exception(error)
    Renderer(out=sys.stderr).error(error)
    return error.exit_code


def _terminated(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
