"""Runs tests/cases/parser: SQL in, canonical SQL (or the error as a user sees it) out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from datadriven import Case, cases, check

from streamsql.errors import StreamSQLError, render
from streamsql.nodes import Expression, Statement
from streamsql.parser import (
    expected_keywords,
    is_complete,
    parse,
    parse_each,
    parse_expression,
    parse_one,
    parse_type,
    split,
    to_sql,
    tokens,
)


def _or_error(run: Callable[[Case], str]) -> Callable[[Case], str]:
    def handler(case: Case) -> str:
        try:
            return run(case)
        except StreamSQLError as error:
            return render(error)

    return handler


def _canonical(statement: Statement) -> str:
    """The statement's canonical text, once it is known to parse to an equal node."""
    text = to_sql(statement)
    again = parse_one(text)
    assert again == statement
    assert to_sql(again) == text
    assert again.text == text
    return text + ";"


def _parse(case: Case) -> str:
    return "\n".join(map(_canonical, parse(case.input, {})))


def _parse_plain(case: Case) -> str:
    return "\n".join(map(_canonical, parse(case.input)))


def _alone(parse_text: Callable[[str], Expression]) -> Callable[[Case], str]:
    def handler(case: Case) -> str:
        node = parse_text(case.input)
        text = to_sql(node)
        again = parse_text(text)
        # Equality of expressions ignores the case of some texts, their repr does not.
        assert again == node
        assert repr(again) == repr(node)
        return text

    return handler


def _split(case: Case) -> str:
    parts = split(case.input)
    for text, span in parts:
        assert case.input[span.start : span.end] == text
    return "\n".join(f"{span.line}:{span.column} {text!r}" for text, span in parts) or "nothing"


def _errors(case: Case) -> str:
    results = parse_each(case.input)
    return "\n".join(render(r) for r in results if isinstance(r, StreamSQLError))


def _tokens(case: Case) -> str:
    pieces = list(tokens(case.input))
    for _, text, start in pieces:
        assert case.input[start : start + len(text)] == text
    return "\n".join(f"{kind} {text}" for kind, text, _ in pieces)


HANDLERS: dict[str, Callable[[Case], str]] = {
    "parse": _or_error(_parse),
    "parse-plain": _or_error(_parse_plain),
    "expression": _or_error(_alone(parse_expression)),
    "type": _or_error(_alone(parse_type)),
    "split": _split,
    "errors": _errors,
    "complete": lambda case: str(is_complete(case.input)).lower(),
    "tokens": _tokens,
    "keywords": lambda case: " ".join(sorted(expected_keywords(case.input))) or "none",
}


@pytest.mark.parametrize("case", cases("parser"))
def test_parser_case(case: Case, rewrite: bool) -> None:
    check(case, HANDLERS, rewrite)
