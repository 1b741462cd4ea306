"""What the launcher lowers again, and what it reuses; Spark is scripted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamsql.data_folder import DataDir
from streamsql.executor.frames.context import Muted
from streamsql.executor.queries import checkpoint_metadata, start
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.planner.plans.query_plan import Mode
from streamsql.sizes import Machine, sizes_of
from streamsql.storage.location import Location
from tests.executor.definitions import definition

SIZES = sizes_of(Machine(2, 8192), {}, None, has_master=False)


NO_JVM: Any = SimpleNamespace(streamsql_bridge=SimpleNamespace(stopped=lambda _: None))
"""A Spark that notes which queries have stopped."""


def session() -> Any:
    return SimpleNamespace(streamsql_bridge=object())


class Scripted(SparkLauncher):
    """Notes what is lowered, and for which mode."""

    def __init__(self, folder: Path) -> None:
        runtime = SimpleNamespace(start=lambda: self.session)
        self.up = False
        services: Any = SimpleNamespace(
            current_spark=lambda: NO_JVM if self.up else None,
            spark=SimpleNamespace(get=lambda: runtime),
            spark_was_killed=lambda: False,
        )
        super().__init__(services, DataDir.at(folder), SIZES)
        self.session = session()
        self.lowered: list[Mode] = []
        self.checkpoint = folder / "checkpoints" / "Q"

    def _lower(
        self,
        query: Definition,
        mode: Mode,
        muted: Muted | None = None,
        *,
        on: Location | None = None,
    ) -> Any:
        self.lowered.append(mode)
        frame = SimpleNamespace(sparkSession=self.session)
        return SimpleNamespace(
            frame=frame, jvm=None, checkpoint=self.checkpoint, source_topics=("in",), stores=()
        )

    def _take_slots(self, query_id: str, spec: Any) -> bool:
        return True


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setattr(start, "start", lambda *_: None)
    return Scripted(tmp_path)


def test_what_has_caught_up_continues_as_it_is(launcher: Scripted) -> None:
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
    launcher.session = session()
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.REAL_TIME] * 4


def test_what_is_to_replace_a_query_is_lowered_while_that_runs(launcher: Scripted) -> None:
    query = definition()
    launcher.make_ready(query)
    assert not launcher.lowered, "Spark is not there"
    launcher.up = True
    launcher.make_ready(query)
    assert not launcher.lowered, "its first batch decides how its state is laid out"
    commits = launcher.checkpoint / "commits"
    commits.mkdir(parents=True)
    (commits / "0").write_text("v1\n{}")
    launcher.make_ready(query)
    assert launcher.lowered == [Mode.REAL_TIME]
    assert checkpoint_metadata.read(launcher.checkpoint) is None, "the one that runs is not it yet"
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.REAL_TIME]
    assert checkpoint_metadata.read(launcher.checkpoint) is not None


def test_what_is_rebuilt_is_lowered_before_it_is_in_place(launcher: Scripted) -> None:
    query, launcher.up = definition(), True
    built = launcher.checkpoint.with_name("Q.rebuilt")
    launcher.make_ready(query, built)
    assert not launcher.lowered, "its first batch decides how its state is laid out"
    (built / "commits").mkdir(parents=True)
    (built / "commits" / "0").write_text("v1\n{}")
    launcher.make_ready(query, built)
    launcher.live(query, Mode.REAL_TIME)
    assert launcher.lowered == [Mode.REAL_TIME]


def test_what_was_lowered_for_another_mode_is_not_gone_on_with(launcher: Scripted) -> None:
    query = definition()
    launcher.catch_up(query, 1)
    launcher.live(query, Mode.MICRO_BATCH)
    assert launcher.lowered == [Mode.REAL_TIME, Mode.MICRO_BATCH]
