"""The one runner of data-driven cases: text files under tests/cases of blocks

    # a comment
    directive name=value flag
    input, any number of lines
    ----
    expected output

separated by blank lines. Expected output that holds a blank line itself stands between two pairs
of `----`. A test gives a handler for each directive: `Case -> str`. `pytest --rewrite` writes what
the handlers return into the files, to be reviewed as a diff.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
_RULE = "----"


@dataclass(frozen=True)
class Case:
    """One block; `index` counts the blocks of its file, `line` is where it begins."""

    path: Path
    index: int
    line: int
    directive: str
    args: Mapping[str, str]
    input: str
    expected: str
    head: tuple[str, ...] = field(default=(), repr=False)

    @property
    def id(self) -> str:
        return f"{self.path.relative_to(CASES)}:{self.line}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write results into tests/cases")


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether the run writes results instead of comparing them."""
    return bool(request.config.getoption("--rewrite"))


def cases(folder: str, pattern: str = "*.txt") -> list[object]:
    """The cases of a folder (with its subfolders), as parameters of a test."""
    files = sorted((CASES / folder).rglob(pattern))
    assert files, f"no case files in tests/cases/{folder}"
    return [pytest.param(case, id=case.id) for path in files for case in read(path)]


def check(case: Case, handlers: Mapping[str, Callable[[Case], str]], rewrite: bool) -> None:
    """Runs the case and compares, or writes, what comes out."""
    assert case.directive in handlers, f"{case.id}: unknown directive {case.directive}"
    actual = handlers[case.directive](case).strip("\n")
    if rewrite:
        _write(case, actual)
    else:
        diff = difflib.unified_diff(
            case.expected.split("\n"), actual.split("\n"), "expected", "actual", lineterm=""
        )
        assert actual == case.expected, "\n".join([case.id, *diff])


def read(path: Path) -> list[Case]:
    """The blocks of a file."""
    return list(_blocks(path))


def _blocks(path: Path) -> Iterator[Case]:
    lines = path.read_text().split("\n")
    i = index = 0
    head: list[str] = []
    while i < len(lines):
        if not lines[i].strip() or lines[i].startswith("#"):
            head.append(lines[i])
            i += 1
            continue
        start = i
        directive, *args = lines[i].split()
        end = lines.index(_RULE, i) if _RULE in lines[i:] else len(lines)
        assert end < len(lines), f"{path}:{start + 1}: a block without {_RULE}"
        text = "\n".join(lines[i + 1 : end])
        expected, i = _expected(lines, end + 1)
        named = dict(arg.partition("=")[::2] for arg in args)
        yield Case(path, index, start + 1, directive, named, text, expected, tuple(head))
        head, index = [], index + 1


def _expected(lines: list[str], i: int) -> tuple[str, int]:
    """The expected output that begins at line `i`, and the line after it."""
    if i < len(lines) and lines[i] == _RULE:
        end = next(j for j in range(i + 1, len(lines)) if lines[j : j + 2] == [_RULE, _RULE])
        return "\n".join(lines[i + 1 : end]), end + 2
    end = next((j for j in range(i, len(lines)) if not lines[j].strip()), len(lines))
    return "\n".join(lines[i:end]), end


def _write(case: Case, actual: str) -> None:
    blocks = read(case.path)
    text = []
    for block in blocks:
        expected = actual if block.index == case.index else block.expected
        args = [f"{k}={v}" if v else k for k, v in block.args.items()]
        rules = [_RULE]
        if any(not line.strip() for line in expected.split("\n")) and expected:
            expected = "\n".join([_RULE, expected, _RULE, _RULE])
        body = [block.input] if block.input else []
        parts = [" ".join([block.directive, *args]), *body, *rules, *filter(None, [expected])]
        text += [*block.head, *parts]
    case.path.write_text("\n".join(text).rstrip("\n") + "\n")
