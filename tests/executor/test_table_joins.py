"""Joins with tables against what their rows say, on random histories in random batches."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest
from executor.operators import In, Lower, OperatorRun, Out, taken
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from streamsql.executor.frames.keyed import routed
from streamsql.executor.spark.jvm import Jvm

pytestmark = pytest.mark.spark

KEYS = [f"k{i}" for i in range(40)]


def _history(seed: int, keys: list[str], size: int, batches: int) -> list[list[In]]:
    """Rows of two sides whose times rise, but not always; a quarter have no value."""
    chance = random.Random(seed)
    found: list[list[In]] = []
    time = 0
    for batch in range(batches):
        rows = []
        for i in range(size):
            time += chance.randint(0, 5)
            late = chance.choice([0, 0, 0, chance.randint(0, 40)])
            value = None if chance.random() < 0.25 else f"v{batch}.{i}"
            rows.append(In(chance.choice(keys), chance.randint(0, 1), max(time - late, 0), value))
        found.append(rows)
    return found


def _by_key(batches: list[list[In]]) -> dict[str, list[In]]:
    found: dict[str, list[In]] = defaultdict(list)
    for batch in batches:
        for key in {row.key for row in batch}:
            found[key] += taken([row for row in batch if row.key == key])
    return found


@pytest.mark.parametrize("outer", [False, True])
def test_stream_rows_meet_the_table_as_of_their_time(
    spark: SparkSession, tmp_path: Path, outer: bool
) -> None:
    def joined(jvm: Jvm, rows: DataFrame) -> DataFrame:
        return jvm.keyed(rows, "joins.StreamTableJoin", outer)

    batches = _history(1, KEYS, 300, 3)
    expected: dict[str, list[Out]] = defaultdict(list)
    for key, rows in _by_key(batches).items():
        table: str | None = None
        for row in rows:
            if row.side == 0:
                table = row.row
            elif row.row is not None and (outer or table is not None):
                expected[key].append(Out(row.time, row.row, table))
    assert OperatorRun(spark, tmp_path, joined).run(batches) == expected


@pytest.mark.parametrize(
    ("left_alone", "right_alone"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_tables_give_a_result_for_each_change(
    spark: SparkSession, tmp_path: Path, left_alone: bool, right_alone: bool
) -> None:
    def joined(jvm: Jvm, rows: DataFrame) -> DataFrame:
        return jvm.keyed(rows, "joins.TableTableJoin", left_alone, right_alone)

    batches = _history(2, KEYS, 300, 3)
    expected: dict[str, list[Out]] = defaultdict(list)
    for key, rows in _by_key(batches).items():
        there: dict[int, In] = {}
        shown = False
        for row in rows:
            other = there.get(1 - row.side)
            there.pop(row.side, None)
            if row.row is not None:
                there[row.side] = row
            time = max(row.time, other.time if other else 0)
            left, right = there.get(0), there.get(1)
            if (left and right) or (left and left_alone) or (right and right_alone):
                values = (left.row if left else None, right.row if right else None)
                expected[key].append(Out(time, *values))
                shown = True
            elif shown:
                expected[key].append(Out(time, None, None))
                shown = False
    assert OperatorRun(spark, tmp_path, joined).run(batches) == expected


def _foreign_key_join(outer: bool) -> Lower:
    pair = StructType([StructField("foreign_key", BinaryType()), StructField("row", BinaryType())])

    def joined(jvm: Jvm, rows: DataFrame) -> DataFrame:
        # A left row is written `key:value`: the foreign key and the rest.
        text = F.col("row").cast("string")
        key = F.split_part(text, F.lit(":"), F.lit(1)).cast("binary")
        struct = F.struct(key.alias("foreign_key"), F.col("row").alias("row"))
        left = rows.where("side = 0").withColumn(
            "row", F.when(F.col("row").isNotNull(), jvm.pack(struct, pair))
        )
        members = jvm.keyed(left, "joins.ForeignKeySubscriptions")
        right = rows.where("side = 1")
        results = jvm.keyed(routed(members, 0).unionAll(right), "joins.ForeignKeyJoin", outer)
        return jvm.keyed(routed(results, 0), "joins.ForeignKeyResults")

    return joined


@pytest.mark.parametrize("outer", [False, True])
def test_foreign_keys_end_at_the_join_of_the_tables(
    spark: SparkSession, tmp_path: Path, outer: bool
) -> None:
    """After every batch; on the way nothing is deleted that was not there."""
    chance = random.Random(3)
    batches = []
    time = 0
    for batch in range(4):
        rows = []
        for i in range(150):
            time += 1
            gone = chance.random() < 0.2
            if chance.random() < 0.6:
                value = f"r{chance.randint(0, 5)}:{batch}.{i}"
                rows.append(In(f"l{chance.randint(0, 30)}", 0, time, None if gone else value))
            else:
                value = f"{batch}.{i}"
                rows.append(In(f"r{chance.randint(0, 5)}", 1, time, None if gone else value))
        batches.append(rows)
    found = OperatorRun(spark, tmp_path, _foreign_key_join(outer)).run(batches)
    left: dict[str, str] = {}
    right: dict[str, str] = {}
    for row in (row for batch in batches for row in batch):
        table = left if row.side == 0 else right
        table.pop(row.key, None)
        if row.row is not None:
            table[row.key] = row.row
    expected = {
        key: (value, right.get(value.split(":")[0]))
        for key, value in left.items()
        if outer or value.split(":")[0] in right
    }
    last = {key: (outs[-1].left, outs[-1].right) for key, outs in found.items()}
    assert {k: v for k, v in last.items() if v != (None, None)} == expected
    for outs in found.values():
        before = Out(0, None, None)
        for out in outs:
            assert out.left is not None or before.left is not None
            before = out
