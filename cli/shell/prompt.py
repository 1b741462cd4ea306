"""The prompt: multi-line editing, colors, completion, history and the status line. It appears
before the language data is loaded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import (
    CompleteEvent,
    Completer,
    Completion,
    get_common_complete_suffix,
)
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from streamsql.cli.shell.commands import COMMANDS, find_command
from streamsql.cli.terminal.colours import STYLE, SqlLexer
from streamsql.cli.terminal.progress import STEP_NAMES

if TYPE_CHECKING:
    from streamsql.cli.execution.connection import Connection

QUERIES_SECONDS = 1.0
"""How old the queries' states in the status line may be."""
REFRESH_SECONDS = 0.5


class Prompt:
    """Reads statements from a terminal, in sight of an engine."""

    def __init__(self, engine: Connection, history: Path) -> None:
        self._history = FileHistory(str(history))
        self._status = StatusLine(engine)
        self._session: PromptSession[str] = PromptSession(
            message=[("class:prompt", "streamsql> ")],
            prompt_continuation=_continuation,
            multiline=True,
            lexer=SqlLexer(),
            completer=EngineCompleter(engine),
            complete_while_typing=True,
            complete_in_thread=True,
            history=self._history,
            auto_suggest=AutoSuggestFromHistory(),
            key_bindings=_bindings(),
            style=STYLE,
            bottom_toolbar=self._status.text,
            refresh_interval=REFRESH_SECONDS,
            reserve_space_for_menu=6,
        )

        self._session.app.after_render += self._seen

    def _seen(self, app: Application[str]) -> None:
        app.after_render -= self._seen
        threading.Thread(target=load_language, name="load language", daemon=True).start()

    def read(self) -> str:
        """Reads until the statement is complete; KeyboardInterrupt and EOFError as `input`."""
        return self._session.prompt()

    def entries(self) -> Sequence[str]:
        """The history, the oldest first."""
        return list(self._history.get_strings())


def load_language() -> None:
    """Load what the first key will need: parser, functions and completion."""
    from streamsql.api.completion import load

    load()


def _continuation(width: int, line: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:continuation", "" if wrapped else "·".rjust(width - 1) + " ")]


def ends_input(text: str) -> bool:
    """Whether Enter runs the text: it is empty, a command, ends with `;`, or cannot be SQL."""
    from streamsql.api.language import expected_keywords, is_complete

    if not text.strip() or is_complete(text) or find_command(text) is not None:
        return True
    words = text.split()
    return len(words) == 1 and words[0].upper() not in expected_keywords("")


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~completion_is_selected)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        at_end = not buffer.document.text_after_cursor.strip()
        if ends_input(buffer.text) and (at_end or "\n" not in buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + _indent(buffer.document.current_line_before_cursor))

    @bindings.add("enter", filter=completion_is_selected)
    def _choose(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("escape", "enter")
    def _run_anyway(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("tab", filter=~has_completions)
    def _tab(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text.strip() and not buffer.document.current_line_before_cursor.strip():
            buffer.insert_text("  ")
        else:
            _complete(buffer)

    return bindings


def _complete(buffer: Buffer) -> None:
    """Insert what all completions have in common, before the next key; show those that are left.

    (A completion in the background would be lost on who types on at once.)
    """
    asked = CompleteEvent(completion_requested=True)
    found = list(buffer.completer.get_completions(buffer.document, asked))
    if len(found) == 1:
        buffer.apply_completion(found[0])
        return
    buffer.insert_text(get_common_complete_suffix(buffer.document, found))
    buffer.start_completion()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


class EngineCompleter(Completer):
    """`suggest` over the engine's current catalog."""

    def __init__(self, engine: Connection) -> None:
        self._engine = engine

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Completions at the cursor for prompt_toolkit."""
        from streamsql.api.completion import locate

        at = locate(document.text, document.cursor_position)
        asked_for = at.word or at.in_string or at.previous in (".", "->")
        if complete_event.text_inserted and not asked_for:
            return
        yield from self._completions(document, len(at.word))

    def _completions(self, document: Document, replaced: int) -> Iterator[Completion]:
        from streamsql.api.completion import Names, suggest

        commands = {command.name: command.meaning for command in COMMANDS.values()}
        names = Names(self._engine.session.variables, commands=commands)
        found = suggest(document.text, document.cursor_position, self._engine.catalog(), names)
        if len(found) == 1 and len(found[0].text) == replaced:
            return
        for suggestion in found:
            description = suggestion.description
            meta = f"{suggestion.kind}  {description}" if description else suggestion.kind
            yield Completion(suggestion.text, start_position=-replaced, display_meta=meta)


class StatusLine:
    """A line below the prompt with the status of startup and queries."""

    def __init__(self, engine: Connection) -> None:
        self._engine = engine
        self._queries: StyleAndTextTuples = []
        self._asked = 0.0

    def text(self) -> StyleAndTextTuples:
        """How far the start is, or how the queries are, in styled pieces of text."""
        status = self._engine.startup()
        parts: StyleAndTextTuples = [("", " ")]
        for step in status.steps:
            state = step.state.value
            fetching = state == "running" and step.fraction is not None
            if step.name in ("jars", "queries") and state != "failed" and not fetching:
                continue
            mark = {"done": "good", "failed": "bad"}.get(state, "busy")
            parts.append((f"class:bottom-toolbar.{mark}", "●"))
            name = STEP_NAMES.get(step.name, step.name)
            parts.append(
                ("", f" {name}{'' if state == 'done' else ' ' + _doing(step.detail, state)}   ")
            )
        if status.ready:
            parts += self._running()
        return parts

    def _running(self) -> StyleAndTextTuples:
        if time.monotonic() - self._asked > QUERIES_SECONDS:
            self._asked = time.monotonic()
            queries = [q for q in self._engine.queries() if q.kind == "PERSISTENT"]
            failed = sum(q.state.value == "ERROR" for q in queries)
            parts: StyleAndTextTuples = []
            if queries:
                count = len(queries)
                parts = [("", f"{count} quer{'y' if count == 1 else 'ies'}")]
            if failed:
                parts.append(("class:bottom-toolbar.bad", f", {failed} failed: SHOW QUERIES;"))
            self._queries = parts
        return self._queries


def _doing(detail: str, state: str) -> str:
    return detail or {"failed": "failed", "waiting": "waiting"}.get(state, "starting")
