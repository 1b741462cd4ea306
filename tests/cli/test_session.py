"""Transcripts of the shell over a real engine: lines typed, lines printed."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from datadriven import Case, cases, check

from streamsql.cli.shell.shell import Shell
from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.engine import Engine, EngineConfig
from streamsql.errors import StreamSQLError
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.parser import is_complete

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

READY_SECONDS = 300.0
_TIME = re.compile(r"\d{4}[/-]\d\d[/-]\d\d[ T]\d\d:\d\d:\d\d\.\d{3}")


@pytest.fixture(scope="module")
def engine(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    config = EngineConfig(
        data_dir=tmp_path_factory.mktemp("session"), bootstrap_servers=broker.bootstrap
    )
    with Engine(config) as engine:
        engine.wait_until_ready(READY_SECONDS)
        yield engine


@pytest.mark.parametrize("case", cases("shell", "session.txt"))
def test_session(case: Case, engine: Engine, tmp_path: Path, rewrite: bool) -> None:
    def typed(case: Case) -> str:
        screen = io.StringIO()
        renderer = Renderer(out=screen, err=screen, style=Style(), width=80)
        shell = Shell(engine, renderer, ("Data folder", str(tmp_path)), debug=False)
        pending = ""
        for line in case.input.split("\n"):
            screen.write(f"{'        ..' if pending else 'streamsql>'} {line}\n")
            pending += line + "\n"
            if is_complete(pending):
                _run(shell, pending)
                pending = ""
        return _TIME.sub("<time>", screen.getvalue())

    check(case, {"type": typed}, rewrite)


def _run(shell: Shell, text: str) -> None:
    try:
        shell.run(text)
    except StreamSQLError as error:
        shell.show_error(error)
