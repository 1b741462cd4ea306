"""One change is built at a time: the order of waiting, and its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.offline import Offline

from streamsql.errors import ExternalError, UnsupportedError
from streamsql.runtime.state import Context
from streamsql.statements.changes import rebuilding, staging
from streamsql.statements.changes.apply import Files
from streamsql.statements.changes.rebuilding import Rebuilds
from streamsql.statements.changes.staging import StagedFiles, discard, promote


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    with Offline(tmp_path) as engine:
        yield engine.context()


def building(context: Context) -> Rebuilds:
    """A change that is being built."""
    rebuilds = Rebuilds(context.state, from_what_is_left=False)
    rebuilds.build([])
    return rebuilds


def stage(context: Context, rebuilds: Rebuilds) -> None:
    context.state.staged = StagedFiles(Files(list), context.session, (), rebuilds)


def may_build(context: Context) -> bool:
    found = context.state.rebuilding.acquire(timeout=5)
    if found:
        context.state.rebuilding.release()
    return found


@pytest.mark.parametrize("error", [RuntimeError("a bug"), KeyboardInterrupt(), ExternalError("no")])
def test_what_is_staged_stays_whatever_fails(
    context: Context, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    stage(context, building(context))
    staged = context.state.staged
    monkeypatch.setattr(staging, "apply_files", fail)
    with pytest.raises(type(error)):
        promote(context)
    assert context.state.staged is staged
    discard(context)
    assert may_build(context)


def test_a_change_does_not_wait_for_one_that_becomes_staged(context: Context) -> None:
    rebuilds = building(context)
    threading.Timer(0.3, stage, (context, rebuilds)).start()
    with pytest.raises(UnsupportedError, match="a change is staged"):
        building(context)
    discard(context)
    assert may_build(context)


def test_a_change_waits_for_another_one_only_so_long(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "BUILD_SECONDS", 0.3)
    rebuilds = building(context)
    with pytest.raises(ExternalError, match="another rebuild is in progress") as raised:
        building(context)
    assert raised.value.retryable
    rebuilds.close()
    rebuilds.close()
    assert may_build(context)
