"""Users' Python functions over Arrow arrays, as Spark's workers call them; without a JVM."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.types import DoubleType, LongType

from streamsql.executor.expressions.python_worker import batches

GROUPS = pa.array(
    [
        [{"X": 1, "W": 2.0}, {"X": None, "W": 1.0}, {"X": 3, "W": 1.0}],
        [],
        None,
        [{"X": None, "W": 1.0}],
        [{"X": 5, "W": 0.0}],
    ],
    type=pa.list_(pa.struct([("X", pa.int32()), ("W", pa.float64())])),
)
MEAN = "sum(a * b for a, b in zip(x, w)) / sum(w)"


def outcomes(made: Any) -> tuple[list[Any], list[bool]]:
    return made.field(0).to_pylist(), made.field(1).to_pylist()


def test_rows_with_nulls_are_not_given_to_the_function() -> None:
    values, failed = outcomes(batches(("x",), "1 // x", LongType())(pa.array([1, None, 0])))
    assert values == [1, None, None]
    assert failed == [False, False, True]


def test_a_function_without_parameters_is_called_for_each_row() -> None:
    values, _ = outcomes(batches((), "7", LongType())(pa.array([1, 1])))
    assert values == [7, 7]


def test_an_aggregate_gets_the_values_of_a_group() -> None:
    values, failed = outcomes(batches(("x", "w"), MEAN, DoubleType(), grouped=True)(GROUPS))
    assert values == [5 / 3, None, None, None, None]
    assert failed == [False, False, False, False, True]


def test_an_aggregate_may_get_them_as_arrays() -> None:
    code = "import pyarrow as pa\ndef f(x: pa.Array, w: pa.Array):\n    return w[-1]"
    values, failed = outcomes(batches(("x", "w"), code, DoubleType(), grouped=True)(GROUPS))
    assert values == [1.0, None, None, None, 0.0]
    assert not any(failed)


def test_workers_need_not_have_streamsql(tmp_path: Path) -> None:
    function = batches(("x", "w"), MEAN, DoubleType(), grouped=True)
    (tmp_path / "function").write_bytes(cloudpickle.dumps(function))
    (tmp_path / "groups").write_bytes(cloudpickle.dumps(GROUPS))
    code = (
        "import pickle, sys; sys.modules['streamsql'] = None; "
        "f, groups = (pickle.load(open(n, 'rb')) for n in ('function', 'groups')); "
        "print(f(groups).field(0).to_pylist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (f"{[5 / 3, None, None, None, None]}\n", "")
