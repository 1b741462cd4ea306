"""The commands of docs/operations.md: ours are taken as they stand, those that need no server are
run; of others, the files and targets that they name are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from streamsql.cli.main import main
from streamsql.cli.options.parser import build_parser
from streamsql.users.accounts import read_accounts

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OF_OTHERS = ("curl", "docker", "kubectl", "make")


def commands() -> list[list[str]]:
    """Word by word; a line that ends with a backslash continues."""
    text = re.sub(r"^```\w+\n.*?^```$", _shell_only, _page(), flags=re.MULTILINE | re.DOTALL)
    lines = "\n".join(block[1] for block in _BLOCK.finditer(text)).replace("\\\n", " ")
    found = [shlex.split(line, comments=True) for line in lines.splitlines()]
    return [words for words in found if words and words[0] in ("streamsql", *_OF_OTHERS)]


def _page() -> str:
    return (ROOT / "docs" / "operations.md").read_text("utf-8")


def _shell_only(block: re.Match[str]) -> str:
    return block[0] if block[0].startswith("```sh\n") else ""


OURS = [words[1:] for words in commands() if words[0] == "streamsql"]
USERS = [words for words in OURS if words[0] == "user" and "/etc/streamsql/users" in words]


@pytest.mark.parametrize("words", OURS, ids=" ".join)
def test_the_command_line_takes_it(words: list[str]) -> None:
    args = build_parser().parse_args(words)
    assert args.handler.startswith(f"subcommands.{words[0]}:")


def test_users_as_they_are_added_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    users = tmp_path / "users"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bob.txt").write_text("a long password of bob's\n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: "a long password of ann's")
    seen = []
    for words in USERS:
        assert main([str(users) if word == "/etc/streamsql/users" else word for word in words]) == 0
        seen.append(sorted(read_accounts(users)))
    assert seen == [["ann"], ["ann", "bob"], ["ann", "bob"], ["ann"]]
    assert "ann\tadmin\n" in capsys.readouterr().out


def test_what_commands_of_others_name_is_there() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = 0
    for words in commands():
        if words[0] == "make":
            assert set(words[1:]) <= set(targets)
            named += 1
        for word in words:
            if word.startswith("deploy/"):
                assert (ROOT / word).exists(), word
                named += 1
    assert named >= 4
