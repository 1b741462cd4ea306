"""Commands of the shell itself, which are not SQL: one function each, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamsql.cli.shell.help import TOPICS, find, topic_lines
from streamsql.cli.terminal.identity import version_line
from streamsql.cli.terminal.render import FORMATS, Renderer
from streamsql.errors import ConfigError, did_you_mean
from streamsql.results import Field, Rows


class Shell(Protocol):
    """Interface of the shell for its commands."""

    renderer: Renderer

    @property
    def history(self) -> Sequence[str]:
        """The input, the oldest first."""

    def leave(self) -> None:
        """End the shell after this command."""

    def clear(self) -> None: ...

    def status(self) -> Sequence[tuple[str, str]]:
        """The shell's connection: names and values."""


@dataclass(frozen=True)
class Command:
    """`name` is the words it begins with; the rest of the line is its argument."""

    name: str
    usage: str
    meaning: str
    run: Callable[[Shell, str], None]


COMMANDS: dict[str, Command] = {}
"""By name, in the order of `help`."""

Body = Callable[[Shell, str], None]


def command(name: str, usage: str, meaning: str) -> Callable[[Body], Body]:
    """Enter a function into COMMANDS."""

    def enter(body: Body) -> Body:
        COMMANDS[name] = Command(name, usage, meaning, body)
        return body

    return enter


def find_command(text: str) -> tuple[Command, str] | None:
    """The command that a line is, with its argument; None if it is something else (SQL)."""
    line = text.strip().rstrip(";").strip()
    words = line.lower().split()
    for name in sorted(COMMANDS, key=len, reverse=True):
        parts = name.split()
        if words[: len(parts)] == parts:
            argument = line.split(None, len(parts))[len(parts) :]
            return COMMANDS[name], argument[0].strip() if argument else ""
    return None


@command("help", "help [statement]", "this list, or how a statement is written")
def _help(shell: Shell, argument: str) -> None:
    style = shell.renderer.style
    if not argument:
        lines = [style.title("Statements") + style.dim("  (help NAME shows one)"), ""]
        lines += [f"  {t.name:<26}{style.dim(t.meaning)}" for t in TOPICS]
        lines += ["", style.title("Commands"), ""]
        lines += [f"  {c.usage:<26}{style.dim(c.meaning)}" for c in COMMANDS.values()]
        lines += ["", style.title("Keys"), ""]
        lines += [f"  {key:<26}{style.dim(meaning)}" for key, meaning in KEYS]
        shell.renderer.write(lines)
        return
    topics = find(argument)
    if not topics:
        raise ConfigError(
            f"no help for {argument}",
            hint=did_you_mean(argument, [t.name for t in TOPICS]) or "help lists all topics.",
        )
    for number, topic in enumerate(topics[:3]):
        shell.renderer.write([""] if number else [])
        shell.renderer.write(topic_lines(topic, style))
    if len(topics) > 3:
        more = ", ".join(topic.name for topic in topics[3:])
        shell.renderer.write(["", style.dim(f"See also: {more}")])


KEYS = (
    ("Tab", "completes keywords, functions, names and columns"),
    ("Enter", "runs a statement that ends with ; and else begins a new line"),
    ("Up, Ctrl-R", "earlier statements"),
    ("Ctrl-C", "ends a running query, or clears the input"),
    ("Ctrl-D", "ends the shell"),
)


@command("exit", "exit", "end the shell (also: quit, Ctrl-D)")
def _exit(shell: Shell, argument: str) -> None:
    shell.leave()


@command("quit", "quit", "end the shell")
def _quit(shell: Shell, argument: str) -> None:
    shell.leave()


@command("history", "history [n]", "the last n statements (20)")
def _history(shell: Shell, argument: str) -> None:
    count = _number(argument or "20", "history")
    entries = list(shell.history)
    first = max(len(entries) - count, 0)
    for number, entry in enumerate(entries[first:], first + 1):
        head, *rest = entry.splitlines() or [""]
        shell.renderer.write([f"{number:5}  {head}", *(f"       {line}" for line in rest)])


@command("clear", "clear", "empty the screen")
def _clear(shell: Shell, argument: str) -> None:
    shell.clear()


@command("version", "version", "the version of streamsql")
def _version(shell: Shell, argument: str) -> None:
    shell.renderer.write([version_line()])


@command("server", "server", "shows engine, Kafka and Spark of the shell")
def _server(shell: Shell, argument: str) -> None:
    shell.renderer.show(Rows((Field("Part"), Field("Status")), list(shell.status())))


@command("output", "output [table|json|csv]", "how results are shown")
def _output(shell: Shell, argument: str) -> None:
    chosen = {"tabular": "table"}.get(argument.lower(), argument.lower())
    if chosen and chosen not in FORMATS:
        raise ConfigError(
            f"unknown output format {argument}",
            hint=did_you_mean(argument, FORMATS) or f"One of: {', '.join(FORMATS)}.",
        )
    if chosen:
        shell.renderer.output = chosen
    shell.renderer.remark(f"Output format: {shell.renderer.output}")


@command("spool", "spool FILE|OFF", "write all that is shown to a file too")
def _spool(shell: Shell, argument: str) -> None:
    path = argument.strip("'\"")
    if not path:
        raise ConfigError("spool needs a file's name, or OFF")
    if path.lower() == "off":
        shell.renderer.spool(None)
        shell.renderer.remark("Spooling is off")
        return
    shell.renderer.spool(path)
    shell.renderer.remark(f"Spooling to {path}")


@command("set cli column-width", "set cli column-width n", "width of columns; 0 fits them")
def _column_width(shell: Shell, argument: str) -> None:
    shell.renderer.column_width = _number(argument, "set cli column-width")
    width = shell.renderer.column_width
    shell.renderer.remark(f"Column width: {width}" if width else "Column width: as needed")


def _number(text: str, name: str) -> int:
    if not text.isdecimal():
        raise ConfigError(f"{name}: {text or 'nothing'!r} is not a number")
    return int(text)
