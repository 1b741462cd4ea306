"""How rows are sorted by their keys for a state operator: as Spark sorts them, by our own sort."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from executor.operators import SCHEMA
from pyspark.sql import SparkSession

from streamsql.executor.spark.jvm import Jvm

pytestmark = pytest.mark.spark

ROWS = 5000
TYPES = ("binary", "int", "bigint", "int", "bigint", "binary", "binary")


def some_keys() -> list[bytes]:
    """Packed ones, and others: of any length, many of which begin alike."""
    dice = random.Random(1)
    keys = [
        bytes(dice.choice((0, 0, 0, 1, 127, 128, 255)) for _ in range(dice.randrange(26)))
        for _ in range(500)
    ]
    keys += [bytes(8) + number.to_bytes(8, "little") for number in range(1, 70_000, 100)]
    return [dice.choice(keys) for _ in range(ROWS)]


def test_rows_come_in_the_order_of_their_keys(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    shuffled = spark.conf.get("spark.sql.shuffle.partitions")
    request.addfinalizer(lambda: spark.conf.set("spark.sql.shuffle.partitions", str(shuffled)))
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    keys = some_keys()
    columns = {
        "key": keys,
        "side": [0] * ROWS,
        "time": list(range(ROWS)),
        "partition": [0] * ROWS,
        "offset": list(range(ROWS)),
        "headers": [None] * ROWS,
        "row": keys,
    }
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table(columns, schema=SCHEMA), tmp_path / "rows" / "all.parquet")
    types = (f"{name} {kind}" for name, kind in zip(columns, TYPES, strict=True))
    rows = spark.readStream.schema(", ".join(types)).parquet(str(tmp_path / "rows"))
    # Each row meets those of its key that came before, which are of the other side: none.
    joined = Jvm(spark).keyed(rows, "joins.StreamStreamJoin", 10, 10, 0, True, False, False)
    query = (
        joined.writeStream.format("memory")
        .queryName("key_sorted")
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    plan = cast(Any, query)._jsq.streamingQuery().lastExecution().executedPlan().toString()
    assert "KeySort" in plan
    found = [bytes(row.key) for row in spark.table("key_sorted").collect()]
    assert found == sorted(keys)
