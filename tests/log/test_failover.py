"""How a server follows the log: each entry takes effect once and in order, whatever fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest
from awaiting import await_until

from streamsql.errors import ExternalError
from streamsql.kafka.client import KafkaClient
from streamsql.log import failover as following
from streamsql.log.entries import Entry
from streamsql.log.failover import Failover, Followed
from streamsql.log.topic_log import CommandLog, Leader


class Log(CommandLog):
    """A command log in memory: the part in Kafka is replaced, the bookkeeping is the real one."""

    def __init__(self) -> None:
        self.topic, self.service_id = "commands", "service"
        self.position, self.entries = 0, []
        self.records: list[Entry | Leader] = []
        self.leading = False

    def poll(self, seconds: float) -> Entry | Leader | None:
        if self.position == len(self.records):
            return None
        self.position += 1
        return self.records[self.position - 1]

    def end(self) -> int:
        return len(self.records)

    committed_end = end

    @property
    def writable(self) -> bool:
        return self.leading

    @property
    def sealed(self) -> bool:
        return True

    def take_over(self) -> None:
        self.leading = True

    def give_up(self) -> None:
        self.leading = False

    def announce(self, leader: Leader) -> None:
        self.records.append(leader)


class Membership:
    """Of the group of servers: the test gives and takes the leadership."""

    def __init__(self, *_: object) -> None:
        self.owner = False
        self.decided = threading.Event()
        self.closed = False

    def start(self) -> None:
        self.decided.set()

    def close(self) -> None:
        self.closed, self.owner = True, False

    def members(self) -> int:
        return 1

    def certain_seconds(self) -> float:
        return 4.0 if self.owner else 0.0


@dataclass
class Engine:
    """An engine whose entries take effect when the test lets them."""

    stuck: int = 0
    """How many more times an effect fails."""
    tried: list[int] = field(default_factory=list)
    folded: list[int] = field(default_factory=list)
    in_effect: list[int] = field(default_factory=list)
    leads: bool = False
    succeeded: int = 0
    """How often it has taken over from another server."""
    granted: list[float] = field(default_factory=list)
    """For how many seconds its queries were let write, each time."""

    def fold(self, entry: Entry) -> Callable[[], None]:
        self.folded.append(entry.sequence)
        return lambda: self._effect(entry)

    def _effect(self, entry: Entry) -> None:
        self.tried.append(entry.sequence)
        if self.stuck:
            self.stuck -= 1
            raise ExternalError("query Q does not stop", retryable=True)
        self.in_effect.append(entry.sequence)

    def lead(self, leads: bool) -> None:
        self.leads = leads

    def write_for(self, seconds: Callable[[], float]) -> None:
        self.granted.append(seconds())

    def succeed(self) -> None:
        assert not self.leads
        self.succeeded += 1

    def followed(self) -> Followed:
        return Followed(
            lock=threading.RLock(),
            fold=self.fold,
            lead=self.lead,
            is_ready=lambda: True,
            write_for=self.write_for,
            succeed=self.succeed,
            entries_before=list,
        )


@dataclass
class Server:
    log: Log
    engine: Engine
    failover: Failover

    @property
    def membership(self) -> Membership:
        return cast(Membership, self.failover._leadership)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(following, "Leadership", Membership)
    monkeypatch.setattr(following, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(following, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(following, "LEASE_SECONDS", 0.01)
    log, engine = Log(), Engine()
    failover = Failover(engine.followed(), log, cast(KafkaClient, None), "http://a:8088")
    yield Server(log, engine, failover)
    failover.close()


def entries(*sequences: int) -> list[Entry]:
    return [Entry(sequence, f"DEFINE x = '{sequence}';") for sequence in sequences]


def test_an_entry_that_does_not_take_effect_is_tried_again(server: Server) -> None:
    server.engine.stuck = 3
    server.log.records += entries(1, 2)
    server.failover.start()
    assert server.failover.sync(10)
    assert server.engine.in_effect == [1, 2] and server.engine.tried == [1, 1, 1, 1, 2]
    assert server.engine.folded == [1, 2], "an effect may have changed what is folded into"
    assert [entry.sequence for entry in server.log.entries] == [1, 2]


def test_an_entry_that_is_due_is_not_in_effect(server: Server) -> None:
    server.engine.stuck = 1_000_000
    server.log.records += entries(1)
    server.failover.start()
    await_until(lambda: len(server.engine.tried) > 2, "it to be tried")
    assert not server.failover.sync(0.05) and not server.log.entries
    server.engine.stuck = 0
    assert server.failover.sync(10) and server.engine.in_effect == [1]


def test_a_server_does_not_lead_before_all_is_in_effect(server: Server) -> None:
    server.engine.stuck = 1_000_000
    server.log.records += entries(1)
    server.failover.start()
    await_until(lambda: len(server.engine.tried) > 2, "it to be tried")
    server.membership.owner = True
    tried = len(server.engine.tried)
    await_until(lambda: len(server.engine.tried) > tried + 2, "it to be tried again")
    assert not server.failover.leads and not server.engine.leads
    server.engine.stuck = 0
    await_until(lambda: server.engine.leads, "it to lead")
    assert server.failover.leads and server.engine.in_effect == [1]


def test_a_server_that_cannot_follow_leaves(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "APPLY_SECONDS", 0.1)
    server.engine.stuck = 1_000_000
    server.log.records += entries(1, 2)
    server.failover.start()
    await_until(lambda: server.membership.closed, "it to leave")
    failure = server.failover.failure
    assert failure is not None
    assert failure.message == "entry 1 cannot be applied: query Q does not stop"
    assert not server.engine.in_effect


@pytest.mark.parametrize(
    ("leaders", "times"),
    [
        ([], 0),
        (["http://a:8088"], 0),
        (["http://b:8088"], 1),
        (["http://b:8088", "http://a:8088"], 0),
    ],
)
def test_a_server_knows_whether_another_one_led_before(
    server: Server, leaders: list[str], times: int
) -> None:
    server.log.records += [Leader(url, "1.0.0") for url in leaders]
    server.failover.start()
    server.membership.owner = True
    await_until(lambda: server.engine.leads, "it to lead")
    assert server.engine.succeeded == times


class Turns(threading.Event):
    """Counts the turns of the thread that extends the lease."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.count += threading.current_thread().name == "write lease"
        return super().wait(timeout)

    def await_two(self) -> None:
        """The first may have begun before."""
        before = self.count
        await_until(lambda: self.count >= before + 2, "two turns")


def test_queries_write_while_the_leadership_is_certain(server: Server) -> None:
    granted, turns = server.engine.granted, Turns()
    server.failover._stopped = turns
    server.failover.start()
    server.membership.owner = True
    await_until(lambda: granted[-1:] == [4.0], "the queries to be let write")
    server.membership.owner = False
    await_until(lambda: granted[-1:] == [0.0] and not server.engine.leads, "it to be over")
    turns.await_two()
    times = len(granted)
    server.log.records += entries(1)
    assert server.failover.sync(10)
    turns.await_two()
    assert len(granted) == times
