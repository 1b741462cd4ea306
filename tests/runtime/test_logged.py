"""Nothing is forgotten of a statement that is logged: a file that is run again knows it, an export
keeps it, its catalog can be sent, followers leave it to the leader, the log grows by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine.offline import Offline
from runtime.logged import BEFORE, LOGGED, Log, example

from streamsql import nodes
from streamsql.api.catalogs import decode_catalog, encode_catalog
from streamsql.catalog import Catalog
from streamsql.errors import InternalError, StreamSQLError
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.log.entries import FileLog
from streamsql.parser import parse
from streamsql.planner.plans.statements import CatalogChange
from streamsql.planner.processing_log import declare
from streamsql.runtime.export import ENDED_BY, catalog_script
from streamsql.runtime.history import History
from streamsql.runtime.replay import Replay
from streamsql.statements import execute, needs_leader
from streamsql.statements.dispatch import handle

Kind = type[nodes.Statement]
every_logged = pytest.mark.parametrize("kind", LOGGED, ids=lambda kind: kind.__name__)


@every_logged
def test_history_knows_what_it_is_about(kind: Kind) -> None:
    log = Log()
    (thing,) = History.of(log.entries).concerns(example(kind)) or {None}
    assert thing is not None, (
        f"say in nodes/ what a {kind.__name__} `creates`, `changes` or `ends`, "
        "or name it in runtime/history.py (`_named`)"
    )
    log.add(example(kind))
    events = History.of(log.entries).events[thing]
    assert events[-1].entry == log.entries[-1]


@every_logged
def test_its_plan_makes_or_ends_what_the_statement_says(kind: Kind) -> None:
    planned = Log().add(example(kind))
    plan_class = type(planned).__name__
    if kind.creates is not None:
        made = {made for made, _ in planned.makes}
        assert kind.creates in made, f"say in planner/ddl what {plan_class} `makes`"
    if kind.ends is not None:
        ended = {ended for ended, _ in planned.ends}
        assert kind.ends in ended, f"say in planner/ddl what {plan_class} `ends`"


@every_logged
def test_an_export_gives_the_same_catalog(kind: Kind) -> None:
    log = Log()
    planned = log.add(example(kind))
    try:
        catalog_script(log.entries)
    except InternalError as error:
        pytest.fail(f"say in planner/ddl what {type(planned).__name__} `makes`: {error.message}")


def test_what_there_can_be_can_be_made_and_ended() -> None:
    """An export ends what it needs no more by the statement for its kind."""
    creates = {kind.creates for kind in LOGGED}
    for kind, name in Catalog.kinds().items():
        assert kind in creates, f"no statement in nodes/ `creates` a {kind}"
        if kind in ("query", "source"):
            continue
        assert kind in ENDED_BY, f"no statement in nodes/ `ends` a {kind}"
        ENDED_BY[kind](name="X")  # type: ignore[call-arg]
        assert getattr(Log().catalog, name), f"BEFORE of tests/runtime/logged.py makes no {kind}"


@every_logged
def test_the_catalog_after_it_can_be_sent(kind: Kind) -> None:
    log = Log()
    log.add(example(kind))
    sent = json.dumps(encode_catalog(log.catalog))
    assert decode_catalog(json.loads(sent)) == log.catalog, "see api/catalogs.py"


def test_a_comment_leaves_what_serves_a_table_alone() -> None:
    log = Log()
    before = log.catalog.get("S")
    log.add(example(nodes.Comment))
    commented = log.catalog.get("S")
    assert commented != before
    assert commented.same_but_for_comment(before)
    log.add(example(nodes.AlterSource))
    assert not log.catalog.get("S").same_but_for_comment(commented)


@every_logged
def test_it_has_a_handler_or_changes_the_catalog_alone(kind: Kind) -> None:
    if kind not in handle.registry:
        planned = Log().add(example(kind))
        assert isinstance(planned, CatalogChange), (
            f"write a handler of {kind.__name__} in statements/, "
            f"or have {type(planned).__name__} be a CatalogChange"
        )
        assert all(planned.done)


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Offline]:
    """An engine without Kafka and Spark that knows what BEFORE makes."""
    file = FileLog(tmp_path / "statements.log")
    for entry in Log().entries:
        file.append(entry)
    file.close()
    with Offline(tmp_path) as engine:
        yield engine


class _Follower:
    def check_leads(self) -> None:
        raise StreamSQLError("another server leads")


@every_logged
def test_a_follower_leaves_it_to_the_leader(kind: Kind, offline: Offline) -> None:
    assert needs_leader(example(kind), offline.state)
    offline.state.failover = _Follower()  # type: ignore[assignment]
    before = offline.state.log.next_sequence
    with pytest.raises(StreamSQLError, match="another server leads"):
        list(execute(example(kind), offline.context()))
    assert offline.state.log.next_sequence == before


def test_a_follower_answers_what_only_reads(offline: Offline) -> None:
    for sql in ("SHOW STREAMS;", "DESCRIBE s;", "SELECT * FROM s EMIT CHANGES;", "SET 'a' = 'b';"):
        (statement,) = parse(sql)
        assert not needs_leader(statement, offline.state)


@pytest.fixture
def alone(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[Offline]:
    """An engine on a real Kafka that knows its queries and runs none."""
    with Offline(tmp_path, broker.bootstrap) as engine:
        kafka = engine.state.services.kafka
        kafka.start()
        engine.state.queries.start()
        engine.state.queries.lead(False)
        yield engine
        kafka.get().close()


@pytest.mark.kafka
@every_logged
def test_the_log_grows_by_it_and_gives_the_catalog_again(kind: Kind, alone: Offline) -> None:
    alone.run(BEFORE)
    before = alone.state.log.next_sequence
    list(execute(example(kind), alone.context()))
    assert alone.state.log.next_sequence == before + 1, (
        f"the handler of {kind.__name__} (statements/) does not `commit` it"
    )
    again = Replay(Catalog())
    declare(again.catalog)
    for entry in alone.state.log.entries:
        again.add(entry)
    assert again.catalog == alone.state.catalog
