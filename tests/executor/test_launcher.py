"""What the launcher lowers anew, and what it goes on with; Spark is played by a script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamsql.data_folder import DataDir
from streamsql.executor.frames.context import Muted
from streamsql.executor.queries import start
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.persistent_query import Definition
from streamsql.planner.plans.logical import Mode
from streamsql.sizes import Machine, sizes_of
from tests.executor.test_queries import definition

SIZES = sizes_of(Machine(2, 8192), {}, None, has_master=False)


class Scripted(SparkLauncher):
    """Notes what is lowered, and for which mode."""

    def __init__(self, folder: Path) -> None:
        runtime = SimpleNamespace(start=lambda: self.session)
        services: Any = SimpleNamespace(
            current_spark=lambda: None, spark=SimpleNamespace(get=lambda: runtime)
        )
        super().__init__(services, DataDir.at(folder), SIZES)
        self.session = object()
        self.lowered: list[Mode] = []

    def spec(self, query: Definition, mode: Mode, muted: Muted | None = None) -> Any:
        self.lowered.append(mode)
        frame = SimpleNamespace(sparkSession=self.session)
        return SimpleNamespace(frame=frame, jvm=None, checkpoint=Path("nowhere"))

    def _take_slots(self, query_id: str, spec: Any) -> bool:
        return True


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setattr(start, "start", lambda *_: None)
    return Scripted(tmp_path)


def test_what_has_caught_up_goes_on_as_it_is(launcher: Scripted) -> None:
    query = definition()
    launcher.catch_up(query, SIZES.records_per_batch)
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.REAL_TIME]
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.REAL_TIME, Mode.REAL_TIME]


def test_what_is_far_behind_catches_up_in_limited_batches(launcher: Scripted) -> None:
    query = definition()
    launcher.catch_up(query, SIZES.records_per_batch + 1)
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.MICRO_BATCH, Mode.REAL_TIME]


def test_a_replaced_query_and_another_spark_are_lowered_again(launcher: Scripted) -> None:
    query = definition()
    launcher.catch_up(query, 1)
    launcher.live(replace(query, sql="CREATE OR REPLACE ..."), Mode.REAL_TIME)
    launcher.catch_up(query, 1)
    launcher.session = object()
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.REAL_TIME] * 4
