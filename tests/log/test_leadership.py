"""A server whose membership of its group fails leaves the group, and joins it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from awaiting import await_until
from confluent_kafka import KafkaError, KafkaException

from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.log import leadership
from streamsql.log.leadership import Leadership


class Record:
    """What `poll` gives for an error of the client library."""

    def error(self) -> KafkaError:
        return KafkaError(KafkaError._FATAL, "fenced", fatal=True)


class Group:
    """Gives each member the partition; the first membership ends as the test says."""

    def __init__(self, end: Callable[[], Any]) -> None:
        self.end: Callable[[], Any] | None = end
        self.joined = self.left = 0

    def __call__(self, settings: object) -> Group:
        self.joined += 1
        return self

    def subscribe(self, topics: list[str], on_assign: Any, **_: object) -> None:
        on_assign(self, ["commands-0"])

    def incremental_assign(self, partitions: object) -> None:
        pass

    pause = incremental_assign

    def commit(self, *, offsets: object, asynchronous: bool) -> None:
        pass

    def poll(self, seconds: float) -> Any:
        end, self.end = self.end, None
        return end() if end else None

    def close(self) -> None:
        self.left += 1


def refused() -> None:
    raise KafkaException(KafkaError(KafkaError._STATE))


@pytest.mark.parametrize("end", [refused, Record])
def test_a_membership_that_fails_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, end: Callable[[], Any]
) -> None:
    group = Group(end)
    monkeypatch.setattr(leadership, "Consumer", group)
    monkeypatch.setattr(leadership, "REJOIN_SECONDS", 0.01, raising=False)
    member = Leadership(KafkaClient("127.0.0.1:1"), "commands", "servers")
    member.start()
    try:
        await_until(lambda: group.joined == 2, "the server to join again", 10)
        assert group.left == 1
        await_until(lambda: member.owner, "the server to lead again", 10)
        assert "left the service" in caplog.text
    finally:
        member.close()
    assert group.left == 2 and not member.owner


@pytest.mark.kafka
def test_leadership_is_certain_for_less_than_a_session(
    broker: EmbeddedBroker, topic_name: str
) -> None:
    client = KafkaClient(broker.bootstrap)
    client.create_topic(topic_name, 1, 1)
    first, second = (Leadership(client, topic_name, topic_name) for _ in range(2))
    assert first.certain_seconds() == 0.0
    try:
        first.start()
        await_until(lambda: first.certain_seconds() > 3.0, "the leadership to be confirmed", 20)
        second.start()
        await_until(second.decided.is_set, "the other server to be a member", 20)
        for _ in range(3):
            was = first._confirmed
            await_until(lambda was=was: first._confirmed > was, "one more confirmation", 10)
        assert 3.0 < first.certain_seconds() < leadership.SESSION_SECONDS - 1
        assert second.certain_seconds() == 0.0
        first.close()
        assert first.certain_seconds() == 0.0
        await_until(lambda: second.certain_seconds() > 3.0, "the other server to lead", 20)
    finally:
        first.close()
        second.close()
        client.close()
