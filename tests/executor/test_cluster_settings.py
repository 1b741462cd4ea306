"""What a user may tell Spark, and what a cluster has room for."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.errors import ConfigError, StreamSQLError, UnsupportedError
from streamsql.executor.spark.capacity import SlotBudget
from streamsql.executor.spark.cluster import checked_settings, cluster_settings, merged
from streamsql.executor.spark.gateway import jvm_environment
from streamsql.executor.spark.session import SETTINGS


def test_settings_of_executors_are_taken() -> None:
    given = {
        "spark.executor.memory": "4g",
        "spark.cores.max": "16",
        "spark.dynamicAllocation.enabled": "false",
    }
    assert checked_settings(given, SETTINGS) == given


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("spark.dynamicAllocation.enabled", "true", UnsupportedError, "holds its task slots"),
        ("spark.speculation", "TRUE", UnsupportedError, "would write its rows twice"),
        ("spark.task.maxFailures", "4", ConfigError, "is set by the engine"),
        ("spark.jars", "mine.jar", ConfigError, "is set by the engine"),
        ("spark.driver.memory", "4g", ConfigError, "is set by the engine"),
        ("spark.master", "local", ConfigError, "is set by the engine"),
        ("executor.memory", "4g", ConfigError, "not a Spark setting"),
    ],
)
def test_settings_that_cannot_be(
    name: str, value: str, error: type[StreamSQLError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        checked_settings({name: value}, SETTINGS)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("master", "given", "plugins"),
    [
        ("local[4]", {}, None),
        ("local[4]", {"spark.plugins": "a.Mine"}, "a.Mine"),
        ("spark://host:7077", {}, "io.streamsql.monitoring.ExecutorCounts"),
        (
            "spark://host:7077",
            {"spark.plugins": "a.Mine", "spark.cores.max": "4"},
            "io.streamsql.monitoring.ExecutorCounts,a.Mine",
        ),
    ],
)
def test_plugins_of_a_user_come_after_the_one_that_tells_what_executors_count(
    master: str, given: dict[str, str], plugins: str | None, tmp_path: Path
) -> None:
    settings = merged({**SETTINGS, **cluster_settings(master, [], tmp_path)}, given)
    assert settings.get("spark.plugins") == plugins
    assert given.items() - {("spark.plugins", "a.Mine")} <= settings.items()


def test_slots_are_those_of_the_executors_that_live() -> None:
    slots = 8
    budget = SlotBudget(lambda: slots)
    assert budget.acquire("a", 4)
    slots = 4
    assert not budget.has_room("a") and not budget.acquire("b", 2)
    budget.release("a")
    assert budget.acquire("b", 2)
    slots = 2
    assert budget.free == -1
    slots = 100
    assert budget.free == 94, "four are left to micro-batches, or a quarter where there are few"


def test_malloc_has_a_pool_a_processor_unless_configured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert int(jvm_environment(tmp_path)["MALLOC_ARENA_MAX"]) >= 2
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    assert jvm_environment(tmp_path)["MALLOC_ARENA_MAX"] == "1"
