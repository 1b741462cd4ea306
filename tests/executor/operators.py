"""State operators on hand-made rows: each list of rows is a micro-batch, read from a file of its
own; the results come out of Spark's memory sink in the order of each key."""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from streamsql.executor.spark.jvm import Jvm


@dataclass(frozen=True)
class In:
    """A row for an operator; its offset is its place in the test's list."""

    key: str
    side: int
    time: int
    row: str | None
    partition: int = 0


@dataclass(frozen=True)
class Out:
    """A joined row."""

    time: int
    left: str | None
    right: str | None


Lower = Callable[[Jvm, DataFrame], DataFrame]

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("side", pa.int32()),
        ("time", pa.int64()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("headers", pa.binary()),
        ("row", pa.binary()),
    ]
)


class OperatorRun:
    """Batches through operators, and what has come out and is kept."""

    def __init__(self, spark: SparkSession, folder: Path, lower: Lower) -> None:
        self._spark = spark
        self._folder = folder / uuid.uuid4().hex
        self._lower = lower
        self._name = f"results_{uuid.uuid4().hex}"
        self._progress: list[Any] = []

    def run(self, batches: Sequence[Sequence[In]]) -> dict[str, list[Out]]:
        """The joined rows of each key."""
        self._write(batches)
        spark = self._spark
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        rows = (
            spark.readStream.schema(
                "key binary, side int, time bigint, partition int, offset bigint, "
                "headers binary, row binary"
            )
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self._folder))
        )
        query = (
            self._lower(Jvm(spark), rows)
            .writeStream.format("memory")
            .queryName(self._name)
            .outputMode("update")
            .option("checkpointLocation", str(self._folder.with_suffix(".checkpoint")))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(300)
        error = query.exception()
        assert error is None, error
        self._progress = query.recentProgress
        return self._results()

    def kept_rows(self) -> list[int]:
        """The number of entries in the operator's state after each batch."""
        return [p["stateOperators"][0]["numRowsTotal"] for p in self._progress]

    def _write(self, batches: Sequence[Sequence[In]]) -> None:
        self._folder.mkdir()
        offset = 0
        for number, batch in enumerate(batches):
            rows = []
            for row in batch:
                value = row.row.encode() if row.row is not None else None
                rows.append(
                    (row.key.encode(), row.side, row.time, row.partition, offset, None, value)
                )
                offset += 1
            columns = [
                pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), SCHEMA, strict=True)
            ]
            path = self._folder / f"{number:04}.parquet"
            pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), path)
            os.utime(path, (1_000_000 + number, 1_000_000 + number))

    def _results(self) -> dict[str, list[Out]]:
        found: dict[str, list[Out]] = defaultdict(list)
        rows = self._spark.table(self._name).orderBy("offset").collect()
        for row in rows:
            found[_text(row["key"]) or ""].append(
                Out(row["time"], _text(row["left"]), _text(row["right"]))
            )
        return dict(found)


def _text(value: bytes | bytearray | None) -> str | None:
    return None if value is None else bytes(value).decode()


def taken(rows: Sequence[In]) -> list[In]:
    """A batch's rows of one key in the order in which an operator takes them: always the earliest
    of the inputs' next rows."""
    inputs: dict[tuple[int, int], list[In]] = defaultdict(list)
    for row in rows:
        inputs[(row.side, row.partition)].append(row)
    order = []
    while inputs:
        name = min(inputs, key=lambda n: (inputs[n][0].time, n))
        order.append(inputs[name].pop(0))
        if not inputs[name]:
            del inputs[name]
    return order
