"""Runs tests/cases/functions: `eval` blocks of expressions and their types and values, one a line;
`fails` blocks of expressions and the message that goes to the processing log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from datadriven import CASES, Case, cases, check, read
from functions.evaluation import evaluate, failure, one_row
from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


class Evaluated:
    """The answers of a whole file, computed together when the first of its blocks is run."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._files: dict[Path, dict[int, str]] = {}
        self._rows: DataFrame | None = None

    def eval(self, case: Case) -> str:
        if case.path not in self._files:
            blocks = [block for block in read(case.path) if block.directive == "eval"]
            answers = iter(
                evaluate(self._spark, [sql for b in blocks for sql in b.input.splitlines()])
            )
            self._files[case.path] = {
                block.index: _lines(answers, len(block.input.splitlines())) for block in blocks
            }
        return self._files[case.path][case.index]

    def fails(self, case: Case) -> str:
        if self._rows is None:
            self._rows = one_row(self._spark)
        rows = self._rows
        return "\n".join(failure(self._spark, rows, sql) for sql in case.input.splitlines())


def _lines(answers: Iterator[str], count: int) -> str:
    return "\n".join(next(answers) for _ in range(count))


@pytest.fixture(scope="module")
def evaluated(spark: SparkSession) -> Evaluated:
    return Evaluated(spark)


@pytest.mark.parametrize("case", cases("functions"))
def test_case(case: Case, evaluated: Evaluated, rewrite: bool) -> None:
    check(case, {"eval": evaluated.eval, "fails": evaluated.fails}, rewrite)


@pytest.mark.variants(every=4)
@pytest.mark.parametrize("path", sorted((CASES / "functions").glob("*.txt")), ids=lambda p: p.stem)
def test_compiled(path: Path, spark: SparkSession) -> None:
    """The same values from the code that Spark compiles, as queries run it."""
    blocks = [block for block in read(path) if block.directive == "eval"]
    sqls = [sql for block in blocks for sql in block.input.splitlines()]
    expected = [line for block in blocks for line in block.expected.splitlines()]
    some = range(0, len(sqls), 40)
    answers = [a for i in some for a in evaluate(spark, sqls[i : i + 40], compiled=True)]
    wrong = [x for x in zip(sqls, expected, answers, strict=True) if x[1] != x[2]]
    assert not wrong
