"""What a checkpoint says once its state was rewritten, and how it is copied before that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from executor.memory_store import MemoryStore

from streamsql.errors import ExternalError, InternalError
from streamsql.executor.queries.checkpoint import committed
from streamsql.executor.rebuilds.batches import Batch, last_batch, write_batch
from streamsql.storage import location

SETTINGS = {"spark.sql.shuffle.partitions": "2"}


def batch(number: int, watermark: int, offsets: str, ids: dict[str, object]) -> Batch:
    metadata = {"batchWatermarkMs": watermark, "batchTimestampMs": watermark + 1, "conf": SETTINGS}
    commit = {"nextBatchWatermarkMs": watermark + 2, "stateUniqueIds": ids}
    return Batch(number, ("v1", json.dumps(metadata), offsets), ("v2", json.dumps(commit)))


OLD = batch(7, 100, '{"in":{"0":5,"1":7}}', {"0": [["a"], ["b"]]})
EMPTY = batch(0, 0, '{"in":{"0":0,"1":0}}', {"0": [["c"]]})


def test_the_second_batch_is_where_the_old_query_was(tmp_path: Path) -> None:
    write_batch(tmp_path, EMPTY)
    assert last_batch(tmp_path) == EMPTY
    write_batch(tmp_path, EMPTY.followed_by(OLD, ["d"]))
    found = last_batch(tmp_path)
    assert (found.number, found.state_ids) == (1, ["d"])
    assert committed(tmp_path) == {"in": {0: 5, 1: 7}}
    assert json.loads(found.metadata) == {
        "batchWatermarkMs": 100,
        "batchTimestampMs": 101,
        "conf": SETTINGS,
    }
    assert json.loads(found.commit[1])["nextBatchWatermarkMs"] == 102


def test_batches_of_other_sources_do_not_follow() -> None:
    other = batch(7, 100, '{"out":{"0":5}}', {})
    with pytest.raises(InternalError, match="sources are .*in.*, they were .*out"):
        EMPTY.followed_by(other, ["d"])


@pytest.mark.parametrize(
    "ids", [{}, {"0": [["a"]], "1": [["b"]]}, {"0": [["a", "b"]]}], ids=["none", "two", "of a join"]
)
def test_only_state_of_one_store_a_partition_is_known(ids: dict[str, object]) -> None:
    assert batch(0, 0, "{}", ids).state_ids is None


def test_a_checkpoint_without_a_commit_has_no_batch(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="no batch of"):
        last_batch(tmp_path)


def test_a_copy_on_a_disk_has_the_files_and_no_say_in_the_others(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write_batch(old, OLD)
    location.make(new)
    location.copy_entry(old / "offsets", new / "offsets")
    location.copy_entry(old / "commits", new / "commits")
    assert last_batch(new) == OLD
    location.write(new / "commits" / "7", "v2\n{}")
    assert last_batch(old) == OLD
    location.delete_folder(new)
    assert last_batch(old) == OLD


def test_a_copy_in_a_store_has_the_files() -> None:
    store = MemoryStore({}, 100)
    root = store.place("s3a://bucket/service")
    write_batch(root / "old", OLD)
    for log in ("offsets", "commits"):
        location.copy_entry(root / "old" / log, root / "new" / log)
    assert last_batch(root / "new") == OLD
