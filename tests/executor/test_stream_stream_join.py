"""Stream-stream joins against a model that keeps everything, on random histories in batches: the
watermark is the latest time of the batches before. And what a join keeps goes when its time has."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from executor.operators import In, Lower, OperatorRun, Out, taken
from pyspark.sql import DataFrame, SparkSession

from streamsql.executor.spark.jvm import Jvm

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Window:
    before: int
    after: int
    grace: int
    alone: tuple[bool, bool]
    held: bool

    @property
    def kept(self) -> int:
        return self.before + self.after + self.grace

    def closed_at(self, side: int, time: int) -> int:
        return time + (self.before if side else self.after) + self.grace + 1


@dataclass
class Kept:
    side: int
    time: int
    row: str
    waits: bool


@dataclass
class Model:
    """One key of the join."""

    window: Window
    rows: list[Kept] = field(default_factory=list)
    latest: int = -1
    out: list[Out] = field(default_factory=list)

    def take(self, row: In, watermark: int) -> None:
        if row.row is None:
            return
        window = self.window
        self.latest = max(self.latest, row.time)
        now = max(self.latest, watermark)
        self.close(now)
        first = row.time - (window.after if row.side else window.before)
        last = row.time + (window.before if row.side else window.after)
        met = [
            other
            for other in self.rows
            if other.side != row.side
            and first <= other.time <= last
            and other.time > now - window.kept
        ]
        for other in sorted(met, key=lambda k: k.time):
            other.waits = False
            self._emit(row.side, max(row.time, other.time), row.row, other.row)
        waits = not met and window.alone[row.side]
        if waits and (not window.held or window.closed_at(row.side, row.time) <= now):
            self._emit(row.side, row.time, row.row, None)
            waits = False
        if row.time > now - window.kept:
            self.rows.append(Kept(row.side, row.time, row.row, waits))

    def close(self, now: int) -> None:
        window = self.window
        waiting = [k for k in self.rows if k.waits and window.closed_at(k.side, k.time) <= now]
        for kept in sorted(waiting, key=lambda k: (window.closed_at(k.side, k.time), k.side)):
            kept.waits = False
            self._emit(kept.side, kept.time, kept.row, None)

    def _emit(self, side: int, time: int, row: str, other: str | None) -> None:
        self.out.append(Out(time, other, row) if side else Out(time, row, other))


def _expected(window: Window, batches: list[list[In]]) -> dict[str, list[Out]]:
    keys: dict[str, Model] = defaultdict(lambda: Model(window))
    watermark = 0
    for batch in [*batches, []]:
        for key in {row.key for row in batch}:
            for row in taken([row for row in batch if row.key == key]):
                keys[key].take(row, watermark)
        for model in keys.values():
            model.close(watermark)
        watermark = max([watermark, *(row.time for row in batch)])
    for model in keys.values():
        model.close(watermark)
    return {key: model.out for key, model in keys.items() if model.out}


def _history(seed: int, late: int) -> list[list[In]]:
    chance = random.Random(seed)
    batches = []
    time = 0
    for batch in range(5):
        rows = []
        for i in range(150):
            time += chance.randint(0, 400)
            back = chance.choice([0, 0, chance.randint(0, late)])
            value = None if chance.random() < 0.05 else f"v{batch}.{i}"
            key = f"k{chance.randint(0, 6)}"
            rows.append(In(key, chance.randint(0, 1), max(time - back, 0), value))
        batches.append(rows)
    return batches


def _join(window: Window) -> Lower:
    def joined(jvm: Jvm, rows: DataFrame) -> DataFrame:
        times = (window.before, window.after, window.grace)
        return jvm.keyed(rows, "joins.StreamStreamJoin", *times, *window.alone, window.held)

    return joined


@pytest.mark.parametrize(
    "window",
    [
        Window(2_000, 2_000, 86_400_000, (False, False), False),
        Window(0, 3_000, 5_000, (True, False), False),
        Window(1_500, 0, 2_000, (True, True), True),
        Window(700, 1_900, 0, (False, True), True),
        Window(0, 0, 10_000, (True, True), True),
    ],
    ids=["inner", "left at once", "full held", "right held", "the same time"],
)
def test_rows_meet_within_the_window(spark: SparkSession, tmp_path: Path, window: Window) -> None:
    batches = _history(7, 12_000)
    expected = _expected(window, batches)
    assert sum(len(out) for out in expected.values()) > 20
    assert OperatorRun(spark, tmp_path, _join(window)).run(batches) == expected


def test_many_rows_of_one_moment(spark: SparkSession, tmp_path: Path) -> None:
    """More than fit into one piece of state."""
    left = [In("k", 0, 1_000, "x" * 100 + str(i)) for i in range(200)]
    window = Window(10, 10, 0, (False, False), False)
    batches = [left[:100], left[100:], [In("k", 1, 1_005, "r")]]
    found = OperatorRun(spark, tmp_path, _join(window)).run(batches)
    assert found["k"] == [Out(1_005, row.row, "r") for row in left]


def test_what_has_passed_is_kept_no_longer(spark: SparkSession, tmp_path: Path) -> None:
    """Keys that move on: each batch has new ones, a minute later; the state does not grow."""
    window = Window(1_000, 1_000, 5_000, (True, True), True)
    batches = [
        [
            In(f"k{batch}.{i}", side, batch * 60_000 + i * 10, f"{side}.{i}")
            for i in range(100)
            for side in (0, 1)
            if side == 0 or i % 2
        ]
        for batch in range(6)
    ]
    run = OperatorRun(spark, tmp_path, _join(window))
    found = run.run(batches)
    # Half of the left rows have met a right one, the others are out but for the last batch's.
    assert sum(len(out) for out in found.values()) == 300 + 250
    kept = run.kept_rows()
    assert len(kept) > 6
    # One batch's rows, and those of the batch before, which go when it is over.
    assert max(kept) <= 2 * kept[0], kept
