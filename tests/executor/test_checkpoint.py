"""Positions read from the files of a Spark checkpoint."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from streamsql.errors import ExternalError
from streamsql.executor.queries import checkpoint_metadata, garbage_collection
from streamsql.executor.queries.checkpoint import (
    RebuildNote,
    adopt,
    begun,
    claim,
    committed,
    discard,
    discard_others,
    discarded,
    erase,
    forget_uncommitted,
    hand_over,
    has_commits,
    id_of,
    is_settled,
    is_torn,
    note_rebuild,
    parse_offsets,
    rebuild_note,
    rebuilt,
    remove,
    remove_torn_files,
    remove_uncommitted_state,
    take_over,
    takeovers,
)
from streamsql.executor.queries.garbage_collection import sweep
from streamsql.executor.queries.path_fixup import relocate
from streamsql.executor.queries.start import checkpointed_shuffle_partitions
from streamsql.kafka.client import KafkaClient

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
    assert committed(gone), "its other resources are freed before it is deleted"


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


# -- what cannot be read is not missing ----------------------------------------------------------


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A checkpoint with everything that a query may leave in one."""
    checkpoint = tmp_path / "Q"
    take_over(checkpoint, 3, "CREATE ..")
    batch(checkpoint, 0, OFFSETS)
    batch(checkpoint, 1, OFFSETS, done=False)
    (checkpoint / "metadata").write_text('{"id":"6f1c"}')
    (checkpoint / "state.json").write_text("{}")
    note = checkpoint / "state" / "0" / "_metadata" / "v2" / "0"
    note.parent.mkdir(parents=True)
    note.write_text('v2\n{"stateStoreInfo":[]}')
    note_rebuild(checkpoint, RebuildNote("results"))
    return checkpoint


Break = Callable[[str, int], None]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Breaks a file or folder of a name: the disk, a share or the process has trouble with it."""

    def break_it(name: str, number: int) -> None:
        def failing(method: Callable[..., Any]) -> Callable[..., Any]:
            def call(path: Path, *given: Any, **named: Any) -> Any:
                if path.name == name:
                    raise OSError(number, os.strerror(number))
                return method(path, *given, **named)

            return call

        for method in ("iterdir", "read_bytes", "read_text", "stat"):
            monkeypatch.setattr(Path, method, failing(getattr(Path, method)))

    return break_it


@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("commits", remove_uncommitted_state),
        ("commits", committed),
        ("commits", has_commits),
        ("commits", is_torn),
        ("commits", forget_uncommitted),
        ("commits", remove_torn_files),
        ("commits", checkpoint_metadata.read),
        ("state.json", checkpoint_metadata.read),
        ("0", committed),
        ("offsets", begun),
        ("offsets", is_torn),
        ("offsets", remove_torn_files),
        ("offsets", checkpointed_shuffle_partitions),
        ("1", checkpointed_shuffle_partitions),
        ("streamsql.json", lambda found: claim(found, 3)),
        ("streamsql.json", lambda found: take_over(found, 4, "CREATE ..")),
        ("streamsql.json", lambda found: is_settled(found, 3)),
        ("streamsql.json", lambda found: adopt(found, 3)),
        ("statements.json", lambda found: take_over(found, 3, "CREATE OR REPLACE ..")),
        ("statements.json", takeovers),
        ("metadata", id_of),
        ("rebuild.json", rebuild_note),
        ("rebuild.json", lambda found: is_settled(found, 3)),
        ("state", relocate),
        ("0", relocate),
    ],
)
@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EMFILE, errno.EACCES])
def test_what_cannot_be_read_is_never_taken_for_missing(
    whole: Path,
    broken: Break,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    act: Callable[[Path], object],
    number: int,
) -> None:
    before = sorted(whole.rglob("*"))
    rebuilt(whole).mkdir()
    hand_over(rebuilt(whole), 3)
    broken(name, number)
    with pytest.raises(ExternalError, match=os.strerror(number)) as raised:
        act(whole)
    assert raised.value.retryable
    monkeypatch.undo()
    assert sorted(whole.rglob("*")) == before, "nothing was deleted"
    assert rebuilt(whole).exists() and takeovers(whole)[0].time > 0


@pytest.mark.parametrize("name", ["streamsql.json", "statements.json", "metadata", "rebuild.json"])
def test_a_damaged_file_is_not_taken_for_missing(whole: Path, name: str) -> None:
    (whole / name).write_text("")
    reads = {
        "streamsql.json": lambda: claim(whole, 3),
        "statements.json": lambda: takeovers(whole),
        "metadata": lambda: id_of(whole),
        "rebuild.json": lambda: rebuild_note(whole),
    }
    with pytest.raises(ExternalError, match="it is damaged"):
        reads[name]()


def test_a_checkpoint_of_an_unreadable_generation_stays(tmp_path: Path, broken: Break) -> None:
    for name in ("KEPT", "KEPT.rebuilt", "ENDED"):
        claim(tmp_path / name, 3)
    broken("streamsql.json", errno.ESTALE)
    discard_others(tmp_path, {"KEPT": 3})
    assert sorted(p.name for p in tmp_path.iterdir() if p.name[0] != ".") == [
        "KEPT",
        "KEPT.rebuilt",
    ]


def test_the_remains_of_a_checkpoint_stay_until_their_id_is_known(
    tmp_path: Path, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    retired: list[set[str]] = []
    monkeypatch.setattr(garbage_collection, "retire_tokens", lambda _, __, ids: retired.append(ids))
    for name in ("Q", "R"):
        claim(tmp_path / name, 3)
        (tmp_path / name / "metadata").write_text('{"id":"' + name + '"}')
        discard(tmp_path / name)
    (unreadable,) = (p for p in tmp_path.iterdir() if p.name.startswith(".gone-Q"))
    (unreadable / "metadata").rename(unreadable / "id")
    (unreadable / "metadata").symlink_to("metadata")  # ELOOP
    sweep(tmp_path, cast(KafkaClient, None), None)
    assert retired == [{"R"}] and discarded(tmp_path) == [unreadable]
