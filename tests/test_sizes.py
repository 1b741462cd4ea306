"""What an engine takes of machines of many kinds, as data: tests/cases/sizes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from streamsql.errors import ConfigError
from streamsql.executor.spark.capacity import GROW_SECONDS, Capacity
from streamsql.executor.spark.cluster import task_slots
from streamsql.properties import PROPERTIES, SHUFFLE_PARTITIONS, validated
from streamsql.sizes import Machine, Sizes, read_machine, sizes_of

CASES = json.loads((Path(__file__).parent / "cases/sizes/machines.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["machine"])
def test_machines(case: dict[str, Any], tmp_path: Path) -> None:
    for name, text in case["files"].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    machine = read_machine(tmp_path, case["cpus"])
    assert [machine.cpus, machine.memory_mb] == case["seen"]
    if "error" in case:
        with pytest.raises(ConfigError, match=case["error"]):
            _sizes(machine, case)
        return
    sizes = _sizes(machine, case)
    effective = sizes.effective()
    assert {name: effective.get(name) for name in case["sizes"]} == case["sizes"]
    for partitions, wanted in case.get("shuffle", {}).items():
        assert sizes.shuffle_partitions(lambda read=int(partitions): read) == wanted


def _sizes(machine: Machine, case: dict[str, Any]) -> Sizes:
    master = case.get("master")
    slots = task_slots(master) if master else None
    return sizes_of(machine, validated(case.get("given", {})), slots, has_master=bool(master))


def test_this_machine_has_something() -> None:
    machine = Machine.this()
    assert machine.cpus >= 1
    assert machine.memory_mb > 100


def test_every_size_is_a_property_with_an_effective_value() -> None:
    sizes = sizes_of(Machine(4, 8192), {}, None, has_master=False)
    assert sizes.effective().keys() == {
        name
        for name, definition in PROPERTIES.items()
        if (definition.at_start and definition.default is None)
        or name == "streamsql.records.per.batch"
    }
    assert "4 CPUs, 8192 MB of memory: streamsql.heap.mb=2048" in sizes.text()


def test_a_query_has_its_own_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    sizes = sizes_of(Machine(8, 8192), {}, None, has_master=False)
    capacity = Capacity(sizes, lambda: 16)
    topics = {"a": 3, "b": 6}
    assert capacity.shuffle_partitions({}, topics, topics.get) == 6
    assert capacity.shuffle_partitions({SHUFFLE_PARTITIONS: "1"}, topics, topics.get) == 1
    elsewhere = Capacity(sizes, lambda: 16, elsewhere=True)
    assert elsewhere.shuffle_partitions({}, topics, topics.get) == 4
    assert capacity.records_per_batch({}) == 2_000_000
    assert capacity.records_per_batch({"streamsql.records.per.batch": "5000"}) == 5000
    capacity.shrink("q")
    assert capacity.records_per_batch({}, "q") == 66_666
    assert capacity.records_per_batch({"streamsql.records.per.batch": "20"}, "q") == 1
    assert capacity.records_per_batch({}, "p") == 2_000_000
    now += GROW_SECONDS
    assert capacity.records_per_batch({}, "q") == 133_333, "it grows back"
    capacity.shrink("q")
    assert capacity.records_per_batch({}, "q") == 4_444
    now += 24 * GROW_SECONDS
    assert capacity.records_per_batch({}, "q") == 2_000_000
    capacity.shrink("q")
    capacity.forget("q")
    capacity.forget("unknown")
    assert capacity.records_per_batch({}, "q") == 2_000_000
    assert capacity.held == 0
    assert capacity.take("q", 12)
    assert not capacity.take("p", 1)
    assert (capacity.held, capacity.holders, capacity.has_room("p")) == (12, 1, False)
    capacity.release("q")
    assert capacity.has_room("p")
