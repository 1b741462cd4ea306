"""The tutorial is run from its beginning to its end, and shows what it says.

A block of SQL is followed by a block of what its statements show. `pytest --rewrite` writes that.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from streamsql.cli.terminal.style import Style
from streamsql.cli.terminal.table import TOMBSTONE, complete_table
from streamsql.engine import Engine, EngineConfig
from streamsql.results import Answer, Field, Message, Result, Rows, RowStream, Text

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
READY_SECONDS = 240.0
PATIENCE = 240.0
WIDTH = 100
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """SQL, and the span of the text that holds what it shows; none if it shows nothing."""

    sql: str
    shown: str | None
    span: tuple[int, int]


def steps(text: str) -> Iterator[Step]:
    blocks = [*_BLOCK.finditer(text), None]
    for block, following in pairwise(blocks):
        assert block is not None
        if block[1] != "sql":
            continue
        if following is not None and not following[1]:
            yield Step(block[2], following[2], following.span(2))
        else:
            yield Step(block[2], None, (0, 0))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """On a broker of its own: the tutorial's topics have names that other tests like too."""
    with Engine(EngineConfig(data_dir=tmp_path_factory.mktemp("tutorial"))) as engine:
        engine.wait_until_ready(READY_SECONDS)
        yield engine


def test_tutorial(engine: Engine, rewrite: bool) -> None:
    text = TUTORIAL.read_text("utf-8")
    found = list(steps(text))
    assert sum(step.shown is not None for step in found) >= 15
    shown = []
    for step in found:
        lines = [line for result in engine.execute(step.sql) for line in _lines(result)]
        shown.append("".join(f"{line}\n" for line in lines))
        if not rewrite:
            assert _comparable(shown[-1]) == _comparable(step.shown or ""), step.sql
    if rewrite:
        for step, lines in reversed(list(zip(found, shown, strict=True))):
            if step.shown is not None:
                text = text[: step.span[0]] + lines + text[step.span[1] :]
        TUTORIAL.write_text(text, "utf-8")


def _lines(result: Result) -> list[str]:
    match result:
        case Message():
            return []
        case Text():
            return result.text.splitlines()
        case Rows():
            return _table(result.fields, [list(row) for row in result.rows])
        case Answer():
            return _table(result.fields, [list(row.values) for row in result.rows])
        case RowStream():
            return _table(result.fields, _all(result))
    raise AssertionError(f"not shown in a tutorial: {result}")


def _table(fields: tuple[Field, ...], rows: list[list[object]]) -> list[str]:
    lines = complete_table(fields, rows, WIDTH, Style())
    return [line.rstrip() for line in lines]


def _all(stream: RowStream) -> list[list[object]]:
    """The rows up to the LIMIT."""
    late = threading.Timer(PATIENCE, stream.cancel)
    late.start()
    try:
        rows = [
            [TOMBSTONE if v is None and row.tombstone else v for v in row.values]
            for row in stream.rows
        ]
    finally:
        late.cancel()
    assert stream.final_message, f"{len(rows)} rows within {PATIENCE} s: {rows}"
    return rows


def _comparable(shown: str) -> list[str]:
    """In an order that leaves each key's rows as they came: the first cell is the key."""
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    if "│" not in shown:
        return lines
    return sorted(lines, key=lambda line: line.partition("│")[0])
