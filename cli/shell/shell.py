"""The shell: its prompt appears immediately, while Kafka and Spark start in the background. Also
reads statements from a pipe. commands.py handles the shell's own commands, the engine all other
lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from streamsql.cli.execution.engine import make_engine
from streamsql.cli.execution.execution import Interrupted, run
from streamsql.cli.shell.commands import find_command
from streamsql.cli.shell.startup import wait_for_start
from streamsql.cli.terminal.identity import INTERRUPTED, version_line
from streamsql.cli.terminal.progress import STEP_NAMES, waiting
from streamsql.cli.terminal.render import Renderer
from streamsql.errors import StreamSQLError

if TYPE_CHECKING:
    from streamsql.cli.execution.connection import Connection
    from streamsql.cli.shell.prompt import Prompt
    from streamsql.engine import Engine


def command(args: argparse.Namespace) -> int:
    """`streamsql` without a command: the shell, or the statements of a pipe."""
    if sys.stdin.isatty():
        return _interactive(args)
    return _piped(args)


def _interactive(args: argparse.Namespace) -> int:
    # The prompt's imports are loaded before the engine's threads compete for CPU time.
    from streamsql.cli.shell.prompt import Prompt, load_language
    from streamsql.data_folder import DataDir

    load_language()
    data = DataDir.at(args.data).create()
    engine = make_engine(args, warm_up=True)
    with _port(args.postgres, engine) as remarks:
        engine.start()
        try:
            prompt = Prompt(engine, data.root / "history")
            place = ("Data folder", str(data.root))
            shell = Shell(engine, Renderer(args.output or "table"), place, args.debug)
            shell.greet(*remarks)
            converse(shell, prompt)
        finally:
            with waiting(engine.startup, "stopping Kafka and Spark"):
                engine.close()
    return 0


@contextmanager
def _port(address: str | None, engine: Engine) -> Iterator[list[str]]:
    """PostgreSQL's port, if configured, and its message."""
    if address is None:
        yield []
        return
    from streamsql.cli.execution.postgres import port_of_shell

    with port_of_shell(address, engine) as at:
        yield ["clients of PostgreSQL: psql -h {} -p {}".format(*at)]


def converse(shell: Shell, prompt: Prompt) -> None:
    """Runs the input until its end."""
    shell.history_of = prompt.entries
    while not shell.left:
        try:
            text = prompt.read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        shell.renderer.note(f"streamsql> {text}\n")
        try:
            shell.run(text)
        except KeyboardInterrupt:
            continue
        except StreamSQLError as error:
            shell.show_error(error)


def _piped(args: argparse.Namespace) -> int:
    with make_engine(args) as engine:
        place = ("Data folder", args.data or "")
        return read_statements(Shell(engine, Renderer(args.output or "table"), place, args.debug))


def read_statements(shell: Shell) -> int:
    """Runs statements from standard input as soon as each is complete; stops at an error."""
    from streamsql.api.language import is_complete

    pending = ""
    try:
        for line in sys.stdin:
            pending += line
            if is_complete(pending) or (not pending.strip(";\n ") or _is_command(pending)):
                shell.run(pending, stop_at_interrupt=True)
                pending = ""
            if shell.left:
                return 0
        shell.run(pending, stop_at_interrupt=True)
    except Interrupted:
        return INTERRUPTED
    except StreamSQLError as error:
        shell.show_error(error)
        return error.exit_code
    return 0


def _is_command(text: str) -> bool:
    return find_command(text) is not None


class Shell:
    """Runs the input; holds the state that the shell's commands change. `place` identifies the
    engine for `server`: a name and a value."""

    def __init__(
        self, engine: Connection, renderer: Renderer, place: tuple[str, str], debug: bool
    ) -> None:
        self.renderer = renderer
        self.left = False
        self.history_of: Callable[[], Sequence[str]] = list
        self._engine = engine
        self._place = place
        self._debug = debug

    def greet(self, remark: str = "SQL over streams") -> None:
        """Write the first lines that are seen, with this remark behind the version."""
        style = self.renderer.style
        self.renderer.write(
            [
                f"{style.title(version_line())}  {style.dim(remark)}",
                style.dim("A statement ends with ;  Tab completes, help explains, exit ends."),
                "",
            ]
        )

    def run(self, text: str, *, stop_at_interrupt: bool = False) -> None:
        """A command of the shell or statements; raises their StreamSQLError."""
        if not text.strip().strip(";"):
            return
        found = find_command(text)
        if found is not None:
            shell_command, argument = found
            shell_command.run(self, argument)
            return
        try:
            wait_for_start(self._engine, text)
        except KeyboardInterrupt:
            if stop_at_interrupt:
                raise
            self._say_interrupted("Not run.")
            return
        try:
            run(self._engine, text, self.renderer, partial(waiting, self._engine.startup))
        except Interrupted as interrupted:
            if stop_at_interrupt:
                raise
            ended = (
                "Query ended."
                if interrupted.stream
                else "Stopped waiting; the statement may still complete."
            )
            self._say_interrupted(ended)

    def _say_interrupted(self, said: str) -> None:
        if sys.stdout.isatty():
            # Over the ^C that the terminal has shown.
            sys.stdout.write("\r\x1b[K")
        self.renderer.remark(self.renderer.style.dim(said))

    def show_error(self, error: StreamSQLError) -> None:
        """Write an error; with --debug its traceback before it."""
        if self._debug:
            import traceback

            traceback.print_exception(error)
        self.renderer.error(error)

    # -- what the shell's own commands need --------------------------------------------------------

    @property
    def history(self) -> Sequence[str]:
        """The input, the oldest first."""
        return self.history_of()

    def leave(self) -> None:
        """End the shell once the command is done."""
        self.left = True

    def clear(self) -> None:
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")
            sys.stdout.flush()

    def status(self) -> Sequence[tuple[str, str]]:
        """Lines of the command `status`: names and states."""
        steps = [
            (STEP_NAMES.get(step.name, step.name), f"{step.state.value}  {step.detail}".strip())
            for step in self._engine.startup().steps
        ]
        return [self._place, *steps]
