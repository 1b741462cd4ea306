"""Transcripts of the shell's own commands, and of `check`: lines typed, lines printed. No JVM."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from datadriven import Case, cases, check

from streamsql.cli.main import main
from streamsql.cli.shell.shell import Shell
from streamsql.cli.shell.startup import steps_needed
from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.engine import Engine, EngineConfig
from streamsql.errors import StreamSQLError
from streamsql.session import Session


@pytest.mark.parametrize("case", cases("shell", "commands.txt"))
def test_commands(case: Case, tmp_path: Path, rewrite: bool) -> None:
    def typed(case: Case) -> str:
        screen = io.StringIO()
        renderer = Renderer(out=screen, err=screen, style=Style(), width=80)
        engine = Engine(EngineConfig(data_dir=tmp_path / "data"))
        shell = Shell(engine, renderer, ("Data folder", "/data"), debug=False)
        lines: list[str] = []
        shell.history_of = lambda: lines
        for line in case.input.replace("$TMP", str(tmp_path)).split("\n"):
            lines.append(line)
            screen.write(f"streamsql> {line}\n")
            try:
                shell.run(line)
            except StreamSQLError as error:
                shell.show_error(error)
            if shell.left:
                screen.write("(left)\n")
        return screen.getvalue().replace(str(tmp_path), "$TMP")

    check(case, {"type": typed}, rewrite)


@pytest.mark.parametrize("case", cases("shell", "check.txt"))
def test_check(
    case: Case,
    tmp_path: Path,
    rewrite: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def checked(case: Case) -> str:
        monkeypatch.chdir(tmp_path)
        Path("script.sql").write_text(case.input)
        Path("other.sql").write_text("CREATE STREAM s (a INT)\n  WITH (VALUE_FORMAT = 'JSN');\n")
        options = [f"--define={d}" for d in case.args.get("define", "").split(",") if d]
        code = main(["check", "script.sql", *options])
        return f"{capsys.readouterr().out}exit code {code}"

    check(case, {"check": checked}, rewrite)


def test_spooled_text_has_no_colours(tmp_path: Path) -> None:
    renderer = Renderer(out=io.StringIO(), style=Style(colour=True))
    renderer.spool(str(tmp_path / "log"))
    renderer.remark(renderer.style.good("Done"))
    renderer.spool(None)
    renderer.remark("not in the file")
    assert (tmp_path / "log").read_text() == "Done\n"


@pytest.mark.parametrize(
    ("sql", "steps"),
    [
        ("SHOW STREAMS; DESCRIBE a; EXPLAIN SELECT * FROM a EMIT CHANGES; SET 'a' = 'b';", ""),
        ("CREATE STREAM a (b INT) WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');", "kafka"),
        ("INSERT INTO a VALUES (1); PRINT a;", "kafka"),
        ("SHOW STREAMS; SELECT * FROM a EMIT CHANGES;", "kafka queries spark"),
        ("SELCT 1; SELECT * FROM a EMIT CHANGES;", ""),
    ],
)
def test_statements_wait_only_for_what_they_need(sql: str, steps: str) -> None:
    assert steps_needed(sql, Session()) == set(steps.split())
