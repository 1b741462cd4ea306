"""Positions read from the files of a Spark checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.executor.queries.checkpoint import (
    claim,
    committed,
    discard,
    discard_others,
    discarded,
    erase,
    forget_uncommitted,
    id_of,
    parse_offsets,
    remove,
    remove_torn_files,
    remove_uncommitted_state,
)
from streamsql.executor.queries.relocation import relocate

OFFSETS = 'v1\n{"batchWatermarkMs":0,"conf":{"a":"b"}}\n{"in":{"0":5,"1":7}}\n'


def batch(checkpoint: Path, number: int, offsets: str, *, done: bool = True) -> None:
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(parents=True, exist_ok=True)
    (checkpoint / "offsets" / str(number)).write_text(offsets)
    if done:
        (checkpoint / "commits" / str(number)).write_text("v1\n{}")


def test_offsets_of_a_source() -> None:
    assert parse_offsets(OFFSETS) == {"in": {0: 5, 1: 7}}


def test_of_two_sources_on_one_topic_the_slower_counts() -> None:
    assert parse_offsets(OFFSETS + '{"in":{"0":3,"1":9},"other":{"0":1}}\n') == {
        "in": {0: 3, 1: 7},
        "other": {0: 1},
    }


def test_only_committed_batches_count(tmp_path: Path) -> None:
    assert committed(tmp_path) is None
    batch(tmp_path, 9, OFFSETS)
    batch(tmp_path, 10, OFFSETS.replace("5", "6"))
    batch(tmp_path, 11, OFFSETS.replace("5", "8"), done=False)
    assert committed(tmp_path) == {"in": {0: 6, 1: 7}}


def test_remove(tmp_path: Path) -> None:
    checkpoint = tmp_path / "Q"
    batch(checkpoint, 0, OFFSETS)
    remove(checkpoint)
    remove(checkpoint)
    assert not checkpoint.exists()


@pytest.mark.parametrize("name", ["offsets", "commits"])
def test_torn_files_are_removed_and_whole_ones_stay(tmp_path: Path, name: str) -> None:
    remove_torn_files(tmp_path)
    batch(tmp_path, 0, OFFSETS)
    folder = tmp_path / name
    (folder / ".1.ebb6840b.tmp").write_text("v")
    (folder / ".0.crc").write_text("c")
    remove_torn_files(tmp_path)
    assert sorted(p.name for p in folder.iterdir()) == [".0.crc", "0"]


def test_state_without_a_commit_is_removed(tmp_path: Path) -> None:
    batch(tmp_path, 0, OFFSETS, done=False)
    (tmp_path / "state" / "0").mkdir(parents=True)
    remove_uncommitted_state(tmp_path)
    assert not (tmp_path / "state").exists() and (tmp_path / "offsets" / "0").exists()


def test_committed_state_stays(tmp_path: Path) -> None:
    batch(tmp_path, 0, OFFSETS)
    (tmp_path / "state" / "0").mkdir(parents=True)
    remove_uncommitted_state(tmp_path)
    assert (tmp_path / "state" / "0").exists()


def test_a_checkpoint_belongs_to_one_generation_of_a_query(tmp_path: Path) -> None:
    checkpoint = tmp_path / "Q"
    claim(checkpoint, 3)
    batch(checkpoint, 0, OFFSETS)
    claim(checkpoint, 3)
    assert committed(checkpoint)
    claim(checkpoint, 8)
    assert committed(checkpoint) is None, "an ended query of the same id has made it"
    (gone,) = discarded(tmp_path)
    assert committed(gone), "what else it had is seen to before it is deleted"


def test_a_checkpoint_that_says_nothing_is_taken_over(tmp_path: Path) -> None:
    checkpoint = tmp_path / "Q"
    batch(checkpoint, 0, OFFSETS)
    claim(checkpoint, 3)
    assert committed(checkpoint)
    claim(checkpoint, 4)
    assert committed(checkpoint) is None


def test_what_is_left_over_is_removed(tmp_path: Path) -> None:
    for name, generation in (("KEPT", 3), ("AGAIN", 1), ("ENDED", 2), ("RUNNING", 7)):
        claim(tmp_path / name, generation)
    batch(tmp_path / "UNNUMBERED", 0, OFFSETS)
    # As a crash in the midst of a removal leaves it.
    batch(tmp_path / ".gone-KEPT", 0, OFFSETS)
    discard_others(tmp_path, {"KEPT": 3, "AGAIN": 5, "UNNUMBERED": 4}, {"RUNNING"})
    assert len(discarded(tmp_path)) == 3
    for gone in discarded(tmp_path):
        erase(gone)
        erase(gone)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["KEPT", "RUNNING", "UNNUMBERED"]


def test_what_is_left_of_a_checkpoint_knows_its_id(tmp_path: Path) -> None:
    checkpoint = tmp_path / "Q"
    claim(checkpoint, 3)
    assert id_of(checkpoint) is None, "its query has not begun"
    (checkpoint / "metadata").write_text('{"id":"6f1c"}')
    gone = discard(checkpoint)
    assert gone is not None and id_of(gone) == "6f1c" and not checkpoint.exists()
    assert discard(checkpoint) is None
    # Another of the same name comes and goes before the first is done with.
    claim(checkpoint, 4)
    discard(checkpoint)
    assert len(discarded(tmp_path)) == 2


def test_a_checkpoint_that_was_moved_points_into_itself(tmp_path: Path) -> None:
    def note(folder: Path) -> str:
        path = f"file:{folder}/Q/state/0/_stateSchema/default/0_59"
        return 'v2\n{"stateStoreInfo":[{"name":"x"},{"stateSchemaFilePaths":["' + path + '"]}]}'

    before, now = tmp_path / "state" / "0" / "before", tmp_path / "now"
    metadata = now / "Q" / "state" / "0" / "_metadata" / "v2"
    metadata.mkdir(parents=True)
    (metadata / "0").write_text(note(before))
    (metadata / ".0.new").write_text("torn")
    relocate(now / "Q")
    assert (metadata / "0").read_text() == note(now)
    relocate(now / "Q")
    assert (metadata / "0").read_text() == note(now)
    (metadata / "0").write_text("v9\nof a later version")
    relocate(now / "Q")
    assert (metadata / "0").read_text() == "v9\nof a later version"


def test_a_batch_that_failed_need_not_end_where_it_was_to_end(tmp_path: Path) -> None:
    batch(tmp_path, 0, OFFSETS)
    batch(tmp_path, 1, OFFSETS)
    batch(tmp_path, 2, OFFSETS, done=False)
    (tmp_path / "offsets" / ".2.crc").touch()
    forget_uncommitted(tmp_path)
    assert sorted(path.name for path in (tmp_path / "offsets").iterdir()) == ["0", "1"]
    forget_uncommitted(tmp_path / "none")
