"""From when on which statement has been a query's."""

from __future__ import annotations

from pathlib import Path

from streamsql.executor.queries.checkpoint import take_over, takeovers


def test_what_was_read_beyond_the_last_commit_is_read_again(tmp_path: Path) -> None:
    take_over(tmp_path, 7, "a")
    (first,) = takeovers(tmp_path)
    assert first.positions == {}
    for folder in ("commits", "offsets"):
        (tmp_path / folder).mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n{"t": {"0": 5, "1": 9}}')
    take_over(tmp_path, 7, "a")
    assert takeovers(tmp_path) == [first], "the same statement continues"

    take_over(tmp_path, 7, "b")
    _, second = takeovers(tmp_path)
    assert second.positions == {"t": {0: 5, 1: 9}}
    before = second.time - 1
    assert second.reads_again("t", 0, 5, before) and not second.reads_again("t", 0, 4, before)
    assert not second.reads_again("t", 0, 5, second.time), "it has failed on it itself"
    assert second.reads_again("t", 2, 0, before), "of a partition of which nothing is committed"


def test_another_query_of_the_same_id_has_none_of_it(tmp_path: Path) -> None:
    checkpoint = tmp_path / "Q"
    take_over(checkpoint, 7, "a")
    take_over(checkpoint, 8, "a")
    (only,) = takeovers(checkpoint)
    assert only.reads_again("t", 0, 0, only.time - 1), "failures of the one before are not its own"
    assert takeovers(tmp_path / "nothing") == []
