"""What lowers the operators of a view: packed rows into io.streamsql.views and out again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.frames.keyed import normalized
from streamsql.executor.frames.layouts import WITHOUT_ZEROS
from streamsql.executor.relational import native
from streamsql.executor.relational.native import WEIGHT
from streamsql.executor.spark.types import spark_type
from streamsql.executor.spark.views import Dataflow, OperatorName
from streamsql.planner.relational.algebra import Field, Relation


@dataclass
class Maintenance(ABC):
    """One view while it is lowered."""

    scope: Scope
    dataflow: Dataflow

    @abstractmethod
    def changes(self, relation: Relation) -> DataFrame:
        """The changes of a relation: WEIGHT and its fields."""

    def keyed(
        self, rows: DataFrame, name: OperatorName, *arguments: Any, placed: bool = False
    ) -> DataFrame:
        """A state operator over rows whose first column is their key; `placed`: rows of one key are
        in one partition, the same in each batch."""
        by_key = rows.sortWithinPartitions(rows.columns[0]) if placed else self.placed(rows)
        return self.operated(by_key, name, *arguments)

    def operated(self, rows: DataFrame, name: OperatorName, *arguments: Any) -> DataFrame:
        """The same over rows that are placed and sorted by their key."""
        number = len(self.scope.layouts.stores) + 1
        text = f"{name} {number}"
        rows_of = ((f"argument {i}", str(each)) for i, each in enumerate(arguments))
        key = (("key", "binary"),)
        self.scope.layouts.add(f"views.{name}", text, key, tuple(rows_of), WITHOUT_ZEROS)
        return self.dataflow.operator(rows, name, *arguments)

    def placed(self, rows: DataFrame, *order: str) -> DataFrame:
        key = rows.columns[0]
        by_key = rows.repartition(self.dataflow.partitions, quoted(key))
        return by_key.sortWithinPartitions(*map(quoted, (key, *order)))

    def packed(self, fields: Sequence[Field]) -> Column:
        return packed(fields, self.scope)

    def key(self, rows: DataFrame, values: Sequence[Column]) -> Column:
        """Values as the key of an operator."""
        if not values:
            return F.lit(b"")
        named = F.struct(*(value.alias(f"k{i}") for i, value in enumerate(values)))
        kind = rows.select(named.alias("key")).schema["key"].dataType
        assert isinstance(kind, StructType)
        cells = (
            normalized(value, kind[i].dataType).alias(f"k{i}") for i, value in enumerate(values)
        )
        return self.scope.jvm.pack(F.struct(*cells), kind)

    def unpacked(self, rows: DataFrame, packed: Mapping[str, Sequence[Field]]) -> DataFrame:
        """Rows with a weight, with the fields of their packed columns."""
        structs = [
            self.scope.jvm.unpack(F.col(name), native.struct_of(fields)).alias(f"$of_{name}")
            for name, fields in packed.items()
            if fields
        ]
        cells = [
            quoted(f"$of_{name}").getField(f.id).alias(f.id)
            for name, fields in packed.items()
            for f in fields
        ]
        return rows.select(F.col("weight").alias(WEIGHT), *structs).select(WEIGHT, *cells)

    def counted(self, sides: Sequence[DataFrame], columns: Sequence[Field], rule: str) -> DataFrame:
        """Rows as often as a rule makes of how often each is in either side."""
        inputs = [
            rows.select(
                self.packed(columns).alias("key"),
                F.lit(side).alias("side"),
                quoted(WEIGHT).alias("weight"),
            )
            for side, rows in enumerate(sides)
        ]
        merged = inputs[0] if len(inputs) == 1 else inputs[0].unionAll(inputs[1])
        return self.unpacked(self.keyed(merged, "RowCounts", rule), {"row": columns})


def packed(fields: Sequence[Field], scope: Scope) -> Column:
    """The row of a frame with these fields, as bytes."""
    kind = native.struct_of(fields)
    cells = (
        normalized(quoted(f.id), spark_type(f.type)).cast(spark_type(f.type)).alias(f.id)
        for f in fields
    )
    return scope.jvm.pack(F.struct(*cells), kind) if fields else F.lit(b"")
