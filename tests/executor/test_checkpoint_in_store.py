"""Checkpoints in an object store, where a folder is neither deleted nor moved in one step:
whichever process does it is killed between any two requests, and the next one finishes it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from executor.memory_store import Killed, MemoryStore

from streamsql.errors import ConfigError
from streamsql.executor.queries.checkpoint import (
    RebuildNote,
    adopt,
    claim,
    committed,
    discard_others,
    discarded,
    erase,
    has_commits,
    id_of,
    is_settled,
    rebuild_note,
    remove_uncommitted_state,
    take_over,
    takeovers,
)
from streamsql.executor.queries.path_fixup import relocate
from streamsql.storage.location import location_of
from streamsql.storage.store import StorePath, no_store

ROOT = "s3a://bucket/service"
OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"in":{"0":5,"1":7}}\n'


def checkpoint(name: str, generation: int, **further: str) -> dict[str, bytes]:
    """The files of a query's checkpoint, whose id is `name-generation`."""
    files = {
        "metadata": json.dumps({"id": f"{name}-{generation}"}),
        "streamsql.json": json.dumps({"generation": generation}),
        "offsets/0": OFFSETS,
        "commits/0": "v1\n{}",
        "state/0/0/1.zip": f"state of {generation}",
        **further,
    }
    return {f"{ROOT}/{name}/{file}": content.encode() for file, content in files.items()}


def killed_after_each_request(
    files: dict[str, bytes], action: Callable[[StorePath], object]
) -> list[MemoryStore]:
    """What is left when the action is killed after 0, 1, 2 ... requests; the last one has ended."""
    found = []
    for left in range(100):
        store = MemoryStore(files, left)
        found.append(store)
        try:
            action(store.place(ROOT))
        except Killed:
            store.left = 1_000
        else:
            store.left = 1_000
            return found
    raise AssertionError("it does not end")


def ids(folder: StorePath) -> set[str | None]:
    return {id_of(gone) for gone in discarded(folder)}


def test_what_is_discarded_is_unowned_from_the_first_request_on() -> None:
    note = json.dumps({"topic": "t", "settled": False})
    files = checkpoint("Q", 3, **{"rebuild.json": note}) | checkpoint("R", 4)
    stores = killed_after_each_request(files, lambda folder: discard_others(folder, {"R": 4}))
    assert len(stores) > 8
    for number, store in enumerate(stores):
        folder = store.place(ROOT)
        assert number == 0 or not is_settled(folder / "Q", 3)
        discard_others(folder, {"R": 4})
        assert not (folder / "Q").exists()
        assert ids(folder) - {None} == {"Q-3"}, "its other resources are known"
        assert any(rebuild_note(g) == RebuildNote("t") for g in discarded(folder))
        for gone in discarded(folder):
            erase(gone)
        assert store.files == checkpoint("R", 4)


def test_another_generation_begins_with_nothing() -> None:
    stores = killed_after_each_request(checkpoint("Q", 3), lambda folder: claim(folder / "Q", 5))
    for store in stores:
        query = store.place(ROOT) / "Q"
        claim(query, 5)
        assert [found.name for found in query.iterdir()] == ["streamsql.json"]
        assert is_settled(query, 5) and not has_commits(query)


def test_one_that_was_rebuilt_takes_the_place_of_the_old_one() -> None:
    files = checkpoint("Q", 3) | checkpoint("Q.rebuilt", 5)
    wanted = {name.replace(".rebuilt", ""): x for name, x in checkpoint("Q.rebuilt", 5).items()}
    wanted[f"{ROOT}/Q/metadata"] = files[f"{ROOT}/Q.rebuilt/metadata"]
    stores = killed_after_each_request(files, lambda folder: adopt(folder / "Q", 5))
    assert len(stores) > 15
    for store in stores:
        folder = store.place(ROOT)
        # The next start discards unowned checkpoints first.
        discard_others(folder, {"Q": 5})
        adopt(folder / "Q", 5)
        assert ids(folder) - {None} == {"Q-3"}, "the new one's tokens are not to be taken out"
        for gone in discarded(folder):
            erase(gone)
        assert store.files == wanted


def test_nothing_is_adopted_without_a_rebuild() -> None:
    store = MemoryStore(checkpoint("Q", 3))
    adopt(store.place(ROOT) / "Q", 3)
    assert store.files == checkpoint("Q", 3)


def test_what_is_read_and_written() -> None:
    store = MemoryStore(checkpoint("Q", 3))
    query = store.place(ROOT) / "Q"
    assert committed(query) == {"in": {0: 5, 1: 7}}
    take_over(query, 3, "SELECT 1;")
    assert [t.positions for t in takeovers(query)] == [{"in": {0: 5, 1: 7}}]
    remove_uncommitted_state(query)
    assert (query / "state").exists()
    del store.files[f"{ROOT}/Q/commits/0"]
    remove_uncommitted_state(query)
    assert not (query / "state").exists()


def test_notes_of_one_that_was_built_elsewhere_point_into_it() -> None:
    def note(name: str) -> str:
        path = f"{ROOT}/{name}/state/0/_stateSchema/default/x"
        content = {"stateStoreInfo": [{"stateSchemaFilePaths": [path]}]}
        return "v2\n" + json.dumps(content, separators=(",", ":"))

    where = "state/0/_metadata/v2/0"
    store = MemoryStore(checkpoint("Q", 3, **{where: note("Q.rebuilt")}))
    relocate(store.place(ROOT) / "Q")
    assert store.files[f"{ROOT}/Q/{where}"].decode() == note("Q")
    store.left = 0
    relocate(store.place(ROOT) / "Q")


@pytest.mark.parametrize("url", ["s3a://bucket/a/b", "s3://bucket/a/b/"])
def test_a_place_by_its_url(url: str) -> None:
    found = location_of(url, no_store)
    assert str(found) == "s3a://bucket/a/b"
    assert str(found / "c") == "s3a://bucket/a/b/c" and (found / "c").name == "c"
    assert (found / "c").with_name("d") == found / "d"


@pytest.mark.parametrize("url", ["gs://bucket/a", "http://host/a", "s3a://"])
def test_a_url_that_is_none_of_ours(url: str) -> None:
    with pytest.raises(ConfigError, match="a folder, or in a bucket"):
        location_of(url, no_store)
