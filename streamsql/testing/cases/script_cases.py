"""Splits a file of SQL into its tests. A line `--@test: name` begins a test, `--@expected.error`
and `--@expected.message` mean that it must be rejected. Only comments may precede the first
test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsql.api.language import split
from streamsql.errors import ConfigError
from streamsql.testing.cases.case import Case

_DIRECTIVE = re.compile(r"\s*--@(?P<name>[\w.]+)\s*:\s*(?P<value>.*?)\s*")
_NAMES = ("test", "expected.error", "expected.message")


def script_cases(text: str, stem: str, file: str) -> list[Case]:
    """The tests of a file, none where it has no `--@test`. ConfigError where it is malformed."""
    lines = text.splitlines()
    directives = [(n, m["name"], m["value"]) for n, m in _directives(lines)]
    starts = [n for n, name, _ in directives if name == "test"]
    if not starts:
        return []
    for n, name, _ in directives:
        if name not in _NAMES:
            raise ConfigError(
                f"{file}:{n + 1}: unknown directive {name}",
                hint=f"There are --@{', --@'.join(_NAMES)}.",
            )
    if split("\n".join(lines[: starts[0]])):
        raise ConfigError(f"{file}: there are statements before the first --@test")
    cases = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        given = [(name, value) for n, name, value in directives if start <= n < end]
        # Preceding lines preserve line numbers in errors.
        cases.append(_case("\n" * start + "\n".join(lines[start:end]), given, stem))
    return cases


def _directives(lines: list[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for number, line in enumerate(lines):
        match = _DIRECTIVE.fullmatch(line)
        if match is not None:
            yield number, match


def _case(text: str, given: list[tuple[str, str]], stem: str) -> Case:
    name = given[0][1]
    messages = tuple(value for directive, value in given if directive == "expected.message")
    rejected = any(directive.startswith("expected.") for directive, _ in given)
    return Case(
        id=f"{stem}/{name}",
        file=stem,
        name=name,
        statements=(text,),
        expected_messages=messages if rejected else None,
        asserts=True,
    )
