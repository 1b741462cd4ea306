"""The release before has left queries, state, stores and topics behind, killed in the midst of it:
this one continues with them, and everything is exact."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from awaiting import await_until
from upgrade.pipeline import KEYS, RECORDED, problems, write
from upgrade.record import COUNT

from streamsql.engine import Engine, EngineConfig, QueryState
from streamsql.executor.queries.checkpoint import id_of
from streamsql.kafka.client import KafkaClient
from streamsql.results import Answer

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

BEFORE = Path(__file__).with_name("before.tar.xz")
START_SECONDS, SECONDS = 240.0, 120.0
MORE = 400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of the release before, its broker's records in it, in another place."""
    with tarfile.open(BEFORE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    """This release on it."""
    engine = Engine(EngineConfig(data_dir=folder))
    engine.start()
    try:
        engine.wait_until_ready(START_SECONDS)
        yield engine
    finally:
        engine.close()


def checkpoints(folder: Path) -> dict[str, str | None]:
    return {path.name: id_of(path) for path in (folder / "checkpoints").iterdir()}


def looked_up(engine: Engine) -> object:
    """What the store of the group's table says, which the release before has begun."""
    (answer,) = engine.execute("SELECT n FROM totals WHERE k = 'k1';")
    assert isinstance(answer, Answer)
    (row,) = answer.rows
    return row.values[0]


def test_this_release_continues_with_the_one_before(
    folder: Path, request: pytest.FixtureRequest
) -> None:
    before, log = checkpoints(folder), (folder / "statements.log").read_bytes()
    engine: Engine = request.getfixturevalue("engine")
    kafka = KafkaClient(engine.startup().steps[1].detail.split()[-1])
    assert engine.session.variables["WHO"] == "the release before"
    assert {sink for shape in RECORDED for sink in shape.sinks} < engine.catalog().sources.keys()
    write(kafka, COUNT, MORE)
    await_until(lambda: not problems(kafka), "all to be exact", SECONDS, every=0.5)
    assert problems(kafka) == {}
    queries = {query.id: query for query in engine.queries()}
    assert queries.pop("STILL").state is QueryState.PAUSED
    for query in queries.values():
        assert query.error is None and query.guarantee == "exactly_once"
    wanted = (COUNT + MORE) // KEYS
    await_until(lambda: looked_up(engine) == wanted, "the served table to follow", SECONDS)
    # On the same checkpoints: nothing was started from the beginning, and nothing is left over.
    now = checkpoints(folder)
    assert now == {name: found for name, found in before.items() if name in now}
    assert set(now) >= set(queries) and not any(name.startswith(".") for name in now)
    assert (folder / "statements.log").read_bytes() == log
