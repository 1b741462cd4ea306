"""The prose of the project uses the terms of the field: the rules of styles/streamsql, for
documents and for the comments, docstrings and messages of sources.

The rules are in vale's format. Its package on PyPI downloads a binary on first use, so this test
applies them."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STYLE = ROOT / "styles" / "streamsql" / "Dialect.yml"
FOLDERS = "benchmarks cli client dbt docs examples scripts streamsql tests".split()
_RULE = re.compile(r"^  (.+?): (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`|^    .*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`|\{@\w+ [^}]*\}")
# The comments and the texts of Java and JavaScript.
_JAVA = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*"', re.DOTALL)
# Ends of words, so that `told` is found and `untold` is not.
RULES = {
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): instead
    for pattern, instead in _RULE.findall(STYLE.read_text("utf-8").partition("swap:")[2])
}


def files(path: str) -> list[Path]:
    """The documents and sources of the repository in a folder, or the file."""
    listed = subprocess.check_output(["git", "ls-files", path], cwd=ROOT, text=True)
    return [
        ROOT / name
        for name in listed.splitlines()
        if name.endswith((".md", ".py", ".java", ".js"))
        and "/vendor/" not in name
        and ROOT / name != Path(__file__)
    ]


def prose(file: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file, each with its first line."""
    text = file.read_text("utf-8")
    if file.suffix == ".md":
        yield 1, _FENCE.sub(lambda code: "\n" * code[0].count("\n"), text)
    elif file.suffix == ".py":
        yield from python_prose(text)
    else:
        for found in _JAVA.finditer(text):
            yield 1 + text.count("\n", 0, found.start()), _CODE.sub("", found[0])


def python_prose(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, _CODE.sub("", node.value)


def findings(text: str, line: int) -> Iterator[str]:
    for rule, instead in RULES.items():
        for found in rule.finditer(text):
            place = line + text.count("\n", 0, found.start())
            yield f"{place}: {found[0]!r}: {instead}"


@pytest.mark.parametrize("path", ["README.md", "CHANGELOG.md", *FOLDERS])
def test_terms_of_the_field(path: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{finding}"
        for file in files(path)
        for line, text in prose(file)
        for finding in findings(text, line)
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_the_rules_find_what_they_are_for() -> None:
    text = "It is built anew\nby whoever goes on."
    assert list(findings(text, 3)) == [
        "3: 'anew': again",
        "3: 'built anew': rebuilt",
        "4: 'whoever': the reader, the client or another noun",
        "4: 'goes on': continue, resume",
    ]


def test_comments_and_texts_of_java_and_javascript_are_read(tmp_path: Path) -> None:
    source = tmp_path / "A.java"
    source.write_text('/** One\n * two. */\nint anew; // three\nString told = "four five";\n')
    assert list(prose(source)) == [
        (1, "/** One\n * two. */"),
        (3, "// three"),
        (4, '"four five"'),
    ]
