"""Changes of relations: what each operator of a view makes of its inputs' changes.

Frames have the column WEIGHT and the fields of their relation. State is kept by the operators of
io.streamsql.views, over packed rows; docs/design/views.md says which and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from streamsql.errors import UnsupportedError
from streamsql.executor.frames.context import (
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    quoted,
)
from streamsql.executor.relational import groups, joins, native
from streamsql.executor.relational.maintenance import Maintenance
from streamsql.executor.relational.native import WEIGHT
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    ClosedRows,
    Expand,
    Field,
    Filter,
    Generate,
    Growth,
    Join,
    Project,
    Relation,
    Scan,
    SetOperation,
    TemporalFilter,
    TemporalJoin,
    TopRows,
    UnionAll,
    Values,
    WindowFunctions,
)

_CARRIED = (WEIGHT,)
_WANTED = "$wanted"
_NUMBER = StructType([StructField("n", IntegerType(), False)])


@dataclass
class ViewLowering(Maintenance):
    """Follows the relations of one view."""

    sources: Mapping[str, DataFrame]
    """Decoded records by name of the source, in the columns that scan.py gives."""
    keys: Mapping[str, Sequence[str]]
    """The primary keys of tables by name of the source."""
    root: Relation
    _done: dict[Relation, DataFrame] = field(default_factory=dict)
    _read: dict[str, DataFrame] = field(default_factory=dict)
    _watermarks: dict[str, DataFrame] = field(default_factory=dict)
    """By source: of each batch, the watermark at its end."""

    def __post_init__(self) -> None:
        self._uses = Counter(_edges(self.root))

    def changes(self, relation: Relation) -> DataFrame:
        """The changes of a relation; those of equal relations are computed once."""
        found = self._done.get(relation)
        if found is None:
            found = self._lower(relation)
            if self._uses[relation] > 1:
                found = self.dataflow.shared(found)
            self._done[relation] = found
        return found

    def _lower(self, relation: Relation) -> DataFrame:
        match relation:
            case Scan():
                return self._scan(relation)
            case Values():
                return self._values(relation)
            case Filter():
                return native.filtered(self.changes(relation.input), relation)
            case Project():
                return native.projected(self.changes(relation.input), relation, _CARRIED)
            case Expand():
                return native.expanded(self.changes(relation.input), relation, _CARRIED)
            case Generate():
                return native.generated(self.changes(relation.input), relation)
            case TemporalFilter():
                return self._temporal(relation)
            case ClosedRows():
                return self._closed(relation)
            case UnionAll():
                frames = [self.changes(each) for each in relation.relations]
                return native.united(frames, relation, _CARRIED)
            case Join():
                return joins.lower(relation, self)
            case TemporalJoin():
                return joins.lower_temporal(relation, self)
            case Aggregate():
                return groups.aggregated(relation, self)
            case WindowFunctions():
                return groups.windowed(relation, self)
            case TopRows():
                return groups.top(relation, self)
            case AtMostOne():
                return groups.at_most_one(relation, self)
            case SetOperation():
                return self._set_operation(relation)
        raise UnsupportedError(f"{type(relation).__name__} in a view is not supported.")

    # -- leaves ----------------------------------------------------------------------------------

    def _values(self, node: Values) -> DataFrame:
        """Constant rows, which are added in the first batch alone: each is the row of a key."""
        one = native.one_row(self.scope.context.spark)
        rows = [
            native.constants(one, Values((row,), node.columns)).select(
                self._number(F.lit(i)).alias("key"),
                self.packed(node.columns).alias("row"),
            )
            for i, row in enumerate(node.rows)
        ]
        if not rows:
            none = native.constants(one, node)
            return none.select(F.lit(1).cast("bigint").alias(WEIGHT), "*")
        added = self.keyed(reduce(DataFrame.unionAll, rows), "LatestRows")
        return self.unpacked(added, {"row": node.columns})

    def _scan(self, node: Scan) -> DataFrame:
        rows = self._changes_of(node)
        return rows.select(
            quoted(WEIGHT), *(native.cell(own, quoted(name)) for name, own in node.columns)
        )

    def _changes_of(self, node: Scan) -> DataFrame:
        """The changes of a source, in its columns that the view reads anywhere."""
        found = self._read.get(node.source)
        if found is None:
            found = self._records(node)
            self._read[node.source] = found
        return found

    def _records(self, node: Scan) -> DataFrame:
        rows = self.sources[node.source]
        scans = [each for each in _all(self.root) if isinstance(each, Scan)]
        same = [each for each in scans if each.source == node.source]
        names = list(dict.fromkeys(name for each in same for name, _ in each.columns))
        names = names or list(self.keys.get(node.source, ())[:1])
        present = ~quoted(NULL_COLUMN)
        if node.growth is Growth.APPENDED:
            one = F.lit(1).cast("bigint").alias(WEIGHT)
            if node.watermark is not None:
                added = rows.where(present).select(one, OFFSET_COLUMN, PARTITION_COLUMN, *names)
                return self._on_time(added, node, names)
            added = rows.where(present).select(one, *names)
            return self.dataflow.shared(added) if len(same) > 1 else added
        key = self.keys[node.source]
        rows = self._wanted(rows, same)
        present = present & quoted(_WANTED)
        kind = StructType([rows.schema[name] for name in names])
        packed = self.scope.jvm.pack(F.struct(*map(quoted, names)), kind)
        records = rows.select(
            self.key(rows, [quoted(name) for name in key]).alias("key"),
            F.when(present, packed).alias("row"),
            quoted(OFFSET_COLUMN),
            quoted(PARTITION_COLUMN),
        )
        placed = self.placed(records, OFFSET_COLUMN, PARTITION_COLUMN).select("key", "row")
        changes = self.operated(placed, "LatestRows")
        found = self._columns(changes, kind)
        return found if node.watermark is None else self._on_time(found, node, names)

    def _columns(self, changes: DataFrame, kind: StructType) -> DataFrame:
        """Changes (weight, row) of a source in its columns."""
        row = self.scope.jvm.unpack(F.col("row"), kind)
        return changes.select(F.col("weight").alias(WEIGHT), row.alias("$row")).select(
            WEIGHT, *(quoted("$row").getField(name).alias(name) for name in kind.names)
        )

    def _wanted(self, rows: DataFrame, scans: Sequence[Scan]) -> DataFrame:
        """The records of a table with `_WANTED`: whether a row passes the conditions directly over
        one of its scans. Other rows need not be kept, and count as deleted."""
        readers = [each for each in _all(self.root) if not set(scans).isdisjoint(each.inputs)]
        filters = [each for each in readers if isinstance(each, Filter)]
        if self.root in scans or len(filters) < len(readers):
            return rows.withColumn(_WANTED, F.lit(True))
        # Scans that are copies of one have the same fields.
        columns = {own.id: (name, own) for scan in scans for name, own in scan.columns}
        cells = [native.cell(own, quoted(name)) for name, own in columns.values()]
        passes = reduce(
            Column.__or__,
            (F.coalesce(native.column(each.condition), F.lit(False)) for each in filters),
        )
        record = F.struct(*map(quoted, rows.columns)).alias("$record")
        return rows.select(record, *cells).select("$record.*", passes.alias(_WANTED))

    # -- time ------------------------------------------------------------------------------------

    def _temporal(self, node: TemporalFilter) -> DataFrame:
        """The rows of this moment: each partition gets the clock in each batch."""
        moment = node.until if node.since is None else node.since
        assert moment is not None and not (node.since and node.until)
        fields = node.input.fields
        changes = self._placed(self.changes(node.input), fields, moment)
        clock = self._everywhere(self.dataflow.clock(), 0)
        number = len(self.scope.layouts.stores) + 1
        rows = changes.unionAll(clock)
        result = self.keyed(rows, "TemporalRows", number, node.since is not None)
        return self.unpacked(result, {"row": fields})

    def _on_time(self, rows: DataFrame, node: Scan, names: Sequence[str]) -> DataFrame:
        """The changes of a source without late rows; what the log orders is judged in its order."""
        assert node.watermark is not None
        own, delay = node.watermark
        name = next(name for name, each in node.columns if each == own)
        time = quoted(name)
        kind = StructType([rows.schema[name] for name in names])
        in_order = OFFSET_COLUMN in rows.columns
        zero = F.lit(0).cast("bigint")
        row = self.scope.jvm.pack(F.struct(*map(quoted, names)), kind)
        changes = rows.where(time.isNotNull()).select(
            row.alias("key"),
            row.alias("row"),
            quoted(WEIGHT).alias("weight"),
            F.unix_micros(time).alias("time"),
            (quoted(PARTITION_COLUMN).cast("bigint") if in_order else zero).alias("partition"),
            F.lit(1).cast("bigint").alias("stage"),
            (quoted(OFFSET_COLUMN) if in_order else zero).alias("offset"),
        )
        ends = self.dataflow.clock().select(
            F.lit(b"").alias("key"),
            F.lit(None).cast("binary").alias("row"),
            *(zero.alias(name) for name in ("weight", "time", "partition")),
            F.explode(F.array(zero, F.lit(2).cast("bigint"))).alias("stage"),
            zero.alias("offset"),
        )
        ordered = changes.unionAll(ends).repartition(1)
        ordered = ordered.sortWithinPartitions("stage", "partition", "offset", "key")
        found = self.operated(ordered.drop("offset"), "OnTimeRows", delay, in_order)
        mark = F.col("watermark")
        self._watermarks[node.source] = found.where(F.col("row").isNull()).select(mark)
        taken = found.where(F.col("row").isNotNull())
        values = self.scope.jvm.unpack(F.col("row"), kind).getField(name)
        late = self.scope.jvm.late(
            F.unix_millis(values), F.floor(mark / 1000), self.scope.log, "Watermark"
        )
        return self._columns(taken.where(F.when(mark.isNull(), True).otherwise(late)), kind)

    def _closed(self, node: ClosedRows) -> DataFrame:
        """The rows that the watermarks have passed: each partition gets these in each batch."""
        changes = self._placed(self.changes(node.input), node.input.fields, node.closes)
        for number, source in enumerate(node.sources):
            clock = self._watermarks[source].select(F.col("watermark").alias("moment"))
            changes = changes.unionAll(self._everywhere(clock, number))
        result = self.keyed(changes, "ClosedRows", len(node.sources))
        return self.unpacked(result, {"row": node.fields})

    def _placed(self, rows: DataFrame, fields: Sequence[Field], moment: Expression) -> DataFrame:
        """Rows with a moment, in any partition that equal ones share."""
        row = self.packed(fields)
        return rows.select(
            self._number(F.pmod(F.hash(row), F.lit(self.dataflow.partitions))).alias("key"),
            row.alias("row"),
            quoted(WEIGHT).alias("weight"),
            F.unix_micros(native.column(moment)).alias("moment"),
        )

    def _everywhere(self, clock: DataFrame, number: int) -> DataFrame:
        """The moment of a clock, for each partition, without a row."""
        parts = F.sequence(F.lit(0), F.lit(self.dataflow.partitions - 1))
        clock = clock.select(F.explode(parts).alias("part"), "moment")
        return clock.select(
            self._number(F.col("part")).alias("key"),
            F.lit(None).cast("binary").alias("row"),
            F.lit(number).cast("bigint").alias("weight"),
            "moment",
        )

    def _number(self, number: Column) -> Column:
        return self.scope.jvm.pack(F.struct(number.cast("int").alias("n")), _NUMBER)

    # -- sets ------------------------------------------------------------------------------------

    def _set_operation(self, node: SetOperation) -> DataFrame:
        sides = [
            native.renamed(self.changes(relation), relation.fields, node.columns, _CARRIED)
            for relation in (node.left, node.right)
        ]
        rule = node.kind.value + ("_ALL" if node.all else "")
        return self.counted(sides, node.columns, rule)


def _edges(root: Relation) -> list[Relation]:
    """Each relation as often as distinct relations read it."""
    seen: set[Relation] = set()
    edges: list[Relation] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            edges += node.inputs
            waiting += node.inputs
    return edges


def _all(root: Relation) -> set[Relation]:
    return {root, *_edges(root)}
