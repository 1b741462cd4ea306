"""The shop of docs/changing.md is changed, up to what is taken back, and shows what the page says.

In a block of commands each has what it shows behind it; `pytest --rewrite` writes that. What a
block of a difference says is done to the file that it names.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from streamsql.cli.main import main

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]
"""Slow: it starts an engine ten times."""

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "changing.md"
_SECTION = re.compile(r"^## A shop, .*?(?=^## )", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(console|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ streamsql "


def test_the_shop(
    tmp_path: Path,
    rewrite: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(ROOT / "examples" / "shop", tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("STREAMSQL_DATA", str(tmp_path / "data"))
    page = PAGE.read_text("utf-8")
    section = _SECTION.search(page)
    assert section is not None
    ran = []

    def done(block: re.Match[str]) -> str:
        if block[1] == "diff":
            _change(block[2])
            return block[0]
        shown = ""
        for line in block[2].splitlines():
            if line.startswith(_PROMPT):
                ran.append(line)
                shown += f"{line}\n{_output(line.removeprefix(_PROMPT), capsys)}"
        return f"```console\n{shown}```"

    seen = _BLOCK.sub(done, section[0])
    assert len(ran) >= 10
    if rewrite:
        PAGE.write_text(page.replace(section[0], seen), "utf-8")
    else:
        assert seen == section[0]


def _output(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What it shows, and nothing of errors; only `plan` reports by its exit code that it has
    something to do."""
    arguments = shlex.split(command)
    code = main(arguments)
    found = capsys.readouterr()
    assert not found.err, command
    has_changes = arguments[0] == "plan" and not found.out.startswith("No changes")
    assert code == (2 if has_changes else 0), found.out
    return "".join(f"{line.rstrip()}\n" for line in found.out.strip("\n").splitlines())


def _change(difference: str) -> None:
    """Write the `+` lines in place of the `-` lines, which are there once."""
    head, *lines = difference.splitlines(keepends=True)
    file = Path(head.removeprefix("--- ").strip())
    before, after = ("".join(x[1:] for x in lines if x[0] == sign) for sign in "-+")
    text = file.read_text("utf-8")
    assert text.count(before) == 1, difference
    file.write_text(text.replace(before, after), "utf-8")
