"""The statement log in Kafka: what is acknowledged is there, and only one writes it at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from awaiting import await_until
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from streamsql.errors import ConfigError, ExternalError
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.log.command_records import Leader
from streamsql.log.entries import Entry, encode
from streamsql.log.leadership import Leadership
from streamsql.log.signatures import new_seal
from streamsql.log.topic_log import CommandLog, entries_of

pytestmark = pytest.mark.kafka


def entry(sequence: int) -> Entry:
    facts = {"t": (2, 1), "missing": None}
    return Entry(sequence, f"DEFINE x = 'ä{sequence}';", {"a": "b"}, "CSAS_X_1", facts)


Opened = Callable[[], CommandLog]


@pytest.fixture
def opened(kafka: KafkaClient, topic_name: str) -> Iterator[Opened]:
    """Opens the log of one service, as each of its servers does."""
    with ExitStack() as logs:

        def open_log() -> CommandLog:
            log = CommandLog(kafka, topic_name)
            logs.callback(log.close)
            return log

        yield open_log


def read(log: CommandLog) -> list[Entry | Leader]:
    """What is in the log that this one has not read yet."""
    found, end = [], log.end()

    def at_end() -> bool:
        record = log.poll(0.1)
        if record is not None:
            found.append(record)
        return log.position >= end

    await_until(at_end, "the end of the log")
    return found


def test_entries_come_back_as_they_were(opened: Opened, kafka: KafkaClient) -> None:
    log = opened()
    log.take_over()
    log.announce(Leader("http://a:8088", "0.1.0"))
    for sequence in (1, 2):
        log.append(entry(log.next_sequence))
        assert log.next_sequence == sequence + 1
    assert read(opened()) == [Leader("http://a:8088", "0.1.0"), entry(1), entry(2)]
    assert entries_of(kafka, log.service_id) == [entry(1), entry(2)]
    config = kafka.describe(log.topic)
    assert config is not None and config.config["retention.ms"] == "-1"


def test_a_server_knows_its_own_entries_again(opened: Opened) -> None:
    log, other = opened(), opened()
    log.take_over()
    log.append(entry(1))
    (own,), (foreign,) = read(log), read(other)
    assert isinstance(own, Entry) and isinstance(foreign, Entry)
    assert not log.is_new(own)
    assert other.is_new(foreign)
    other.took_effect(foreign)
    assert not other.is_new(foreign)


def test_a_log_begins_with_what_an_engine_by_itself_has_left(opened: Opened) -> None:
    log = opened()
    log.take_over()
    log.adopt([])
    log.adopt([entry(1), entry(2)])
    found = read(log)
    assert found == [entry(1), entry(2)] == read(opened())
    for each in found:
        assert isinstance(each, Entry) and log.is_new(each), "they take effect now"
        log.took_effect(each)
    assert log.next_sequence == 3


def test_who_led_before_cannot_write_any_more(opened: Opened) -> None:
    old, new = opened(), opened()
    old.take_over()
    old.append(entry(1))
    new.take_over()
    with pytest.raises(ExternalError, match="is no longer the leader") as caught:
        old.append(entry(2))
    assert caught.value.retryable and not old.writable
    assert read(new) == [entry(1)]
    new.append(entry(2))
    assert read(opened()) == [entry(1), entry(2)]


def test_what_a_crash_has_left_half_written_keeps_no_reader_waiting(
    opened: Opened, kafka: KafkaClient
) -> None:
    log = opened()
    log.take_over()
    log.append(entry(1))
    end = log.committed_end()
    id = f"streamsql-{log.service_id}"
    crashed = Producer({**kafka.settings, "transactional.id": id})
    crashed.init_transactions(20)
    crashed.begin_transaction()
    crashed.produce(log.topic, b"{}", b"statement", partition=0)
    crashed.flush()
    assert log.end() > end == log.committed_end()
    follower = opened()
    await_until(lambda: follower.poll(0.1) == entry(1), "what was committed before")
    assert follower.position <= end
    log.take_over()
    log.append(entry(2))
    assert read(opened()) == [entry(1), entry(2)]


def test_a_follower_cannot_write(opened: Opened) -> None:
    with pytest.raises(ExternalError, match="is not the leader"):
        opened().append(entry(1))


def test_a_log_without_its_beginning_is_not_taken_for_whole(
    opened: Opened, kafka: KafkaClient
) -> None:
    log = opened()
    log.take_over()
    log.append(entry(1))
    admin = AdminClient(dict(kafka.settings))
    (deleted,) = admin.delete_records([TopicPartition(log.topic, 0, 1)]).values()
    deleted.result()
    with pytest.raises(ExternalError, match="has lost its first 1 records"):
        opened()


def test_one_member_owns_the_log_and_another_follows_it(
    kafka: KafkaClient, topic_name: str
) -> None:
    kafka.create_topic(topic_name)
    first, second = (Leadership(kafka, topic_name, topic_name) for _ in range(2))
    try:
        assert first.members() == 0
        first.start()
        await_until(lambda: first.owner, "the only member to lead")
        assert second.members() == 1
        assert first.all_sign()
        # A server of an earlier version has the client library's id.
        del second._settings["client.id"]
        second.start()
        await_until(second.decided.is_set, "the second to know that it does not")
        assert not first.all_sign()
        assert first.owner and not second.owner
        first.close()
        assert not first.owner
        await_until(lambda: second.owner, "the second to lead")
        second.close()
        await_until(lambda: first.members() == 0, "the group to be empty")
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize("key", [b"statement", b"statements"])
def test_a_record_of_a_later_version_is_not_passed_over(
    opened: Opened, kafka: KafkaClient, key: bytes
) -> None:
    log = opened()
    later = b'{"sequence": 1, "sql": "SHOW STREAMS;", "version": "9.1.0", "lineage": {}}'
    kafka.produce(log.topic, [NewRecord(key, later)])
    why = r"written by streamsql 9\.1\.0"
    with pytest.raises(ConfigError, match=f"cannot read record 0 of the command topic .*: {why}"):
        read(log)
    with pytest.raises(ConfigError, match=why):
        entries_of(kafka, log.service_id)


def test_a_sealed_log_holds_what_a_server_wrote(opened: Opened, kafka: KafkaClient) -> None:
    log = opened()
    log.take_over()
    log.seal()
    assert read(log) == [] and log.sealed
    log.announce(Leader("http://a:8088", "0.1.0"))
    log.append(entry(1))
    forged = [
        NewRecord(b"statement", encode(entry(2))),
        NewRecord(b"statement", encode(entry(2)), headers=[("streamsql-signature", b"x" * 32)]),
        NewRecord(b"leader", b'{"url": "http://stranger", "version": "0.1.0"}'),
        NewRecord(b"seal", new_seal()),
        NewRecord(b"statement", b'{"version": "9.1.0", "novelty": 1}'),
        NewRecord(None, b"hello"),
    ]
    kafka.produce(log.topic, forged)
    log.append(entry(2))
    expected = [Leader("http://a:8088", "0.1.0"), entry(1), entry(2)]
    assert read(opened()) == expected
    assert entries_of(kafka, log.service_id) == expected[1:]


def test_what_else_a_later_version_says_of_its_leading_is_its_own(
    opened: Opened, kafka: KafkaClient
) -> None:
    log = opened()
    said = b'{"url": "http://a:8088", "version": "9.1.0", "region": "x"}'
    kafka.produce(log.topic, [NewRecord(b"leader", said)])
    assert read(log) == [Leader("http://a:8088", "9.1.0")]
    assert entries_of(kafka, log.service_id) == []
