from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from awaiting import await_until
from confluent_kafka import Consumer

from streamsql.errors import CatalogError, ConfigError, ExternalError
from streamsql.kafka.broker_config import choose_ports
from streamsql.kafka.client import KafkaClient, NewRecord, TopicInfo
from streamsql.kafka.groups import Readers

pytestmark = pytest.mark.kafka

YEAR_1999 = 915_148_800_000
YEAR_2100 = 4_102_444_800_000


def test_a_topic_is_made_described_and_deleted(kafka: KafkaClient, topic_name: str) -> None:
    assert kafka.create_topic(topic_name, 3, config={"cleanup.policy": "compact"})
    assert topic_name in kafka.topics()
    assert kafka.describe(topic_name) == TopicInfo(topic_name, 3, 1, {"cleanup.policy": "compact"})
    assert kafka.delete_topic(topic_name)
    assert topic_name not in kafka.topics()
    assert kafka.describe(topic_name) is None
    # Its name is free at once.
    assert kafka.create_topic(topic_name)
    assert kafka.partitions(topic_name) == 1


def test_what_exists_and_what_does_not(kafka: KafkaClient, topic_name: str) -> None:
    kafka.create_topic(topic_name)
    assert not kafka.create_topic(topic_name, exists_ok=True)
    with pytest.raises(CatalogError, match=f"the topic {topic_name} exists already"):
        kafka.create_topic(topic_name)
    with pytest.raises(CatalogError, match="the topic no-such does not exist"):
        kafka.delete_topic("no-such")
    assert not kafka.delete_topic("no-such", missing_ok=True)
    with pytest.raises(CatalogError, match="the topic no-such does not exist"):
        kafka.end_offsets("no-such")
    with pytest.raises(ExternalError, match="cannot write"):
        kafka.produce("no-such", [NewRecord(b"k", b"v")])


def test_a_topic_that_was_missing_is_written_to_once_it_is_there(
    kafka: KafkaClient, topic_name: str
) -> None:
    record = NewRecord(b"k", b"v")
    kafka.create_topic(topic_name)
    assert kafka.insert(topic_name, [record]) == {0: 1}
    kafka.delete_topic(topic_name)
    with pytest.raises(ExternalError, match="cannot write"):
        kafka.insert(topic_name, [record])
    kafka.create_topic(topic_name)
    assert kafka.insert(topic_name, [record]) == {0: 1}


def test_transactions_write_to_a_topic_that_is_created_again(
    kafka: KafkaClient, topic_name: str
) -> None:
    rows = [NewRecord(b"k", b"v"), NewRecord(b"k", b"w")]
    kafka.create_topic(topic_name)
    kafka.write_together({topic_name: rows})
    kafka.delete_topic(topic_name)
    assert kafka._atomic is not None and kafka._atomic._producer is not None
    kafka._atomic._producer.list_topics(topic_name, timeout=10)
    time.sleep(4)  # Longer than a client waits for the news of a new topic.
    kafka.create_topic(topic_name)
    assert kafka.write_together({topic_name: rows}) == {topic_name: {0: 2}}


def test_the_broker_rejects_names_and_settings(kafka: KafkaClient) -> None:
    with pytest.raises(ConfigError, match="cannot create the topic a b"):
        kafka.create_topic("a b")
    with pytest.raises(ConfigError, match="cannot create the topic ok"):
        kafka.create_topic("ok", config={"cleanup.policy": "sometimes"})
    with pytest.raises(ConfigError, match="Kafka settings: .*no.such.setting"):
        KafkaClient("127.0.0.1:1", {"no.such.setting": "1"})


def test_records_come_back_as_they_were_written(kafka: KafkaClient, topic_name: str) -> None:
    kafka.create_topic(topic_name)
    written = [
        NewRecord(b"k", b"v", YEAR_1999, headers=[("a", b"1"), ("a", None)]),
        NewRecord(None, None, YEAR_2100),
        NewRecord(b"", b"", 0 + 1),
    ]
    assert kafka.produce(topic_name, written) == 3
    read = list(kafka.consume(topic_name, limit=3))
    assert [(r.key, r.value, r.timestamp) for r in read] == [
        (b"k", b"v", YEAR_1999),
        (None, None, YEAR_2100),
        (b"", b"", 1),
    ]
    assert [r.offset for r in read] == [0, 1, 2]
    assert read[0].headers == (("a", b"1"), ("a", None))
    assert kafka.offsets_at(topic_name, YEAR_2100 + 1) == {0: 3}
    assert kafka.offsets_at(topic_name, YEAR_1999) == {0: 0}


def test_keys_lie_where_javas_clients_put_them(kafka: KafkaClient, topic_name: str) -> None:
    kafka.create_topic(topic_name, 7)
    # From Kafka's own tests: murmur2("foobar") = -790332482, murmur2("21") = -973932308.
    expected = {b"foobar": (-790332482 & 0x7FFFFFFF) % 7, b"21": (-973932308 & 0x7FFFFFFF) % 7}
    kafka.produce(topic_name, [NewRecord(key, b"") for key in expected])
    found = {r.key: r.partition for r in kafka.consume(topic_name, limit=2)}
    assert found == expected


def test_reading_all_that_is_there(kafka: KafkaClient, topic_name: str) -> None:
    kafka.create_topic(topic_name, 3)
    kafka.produce(topic_name, (NewRecord(b"%d" % i, b"%d" % i) for i in range(20_000)))
    end = kafka.end_offsets(topic_name)
    assert kafka.all_end_offsets([topic_name, "no-such"]) == {topic_name: end}
    assert sum(end.values()) == 20_000
    kafka.produce(topic_name, [NewRecord(b"%d" % i, b"late") for i in range(100)])
    read = list(kafka.consume(topic_name, until=end))
    assert sorted(int(r.value or b"") for r in read) == list(range(20_000))
    assert list(kafka.consume(topic_name, until=kafka.begin_offsets(topic_name))) == []
    rest = list(kafka.consume(topic_name, start=end, limit=100))
    assert {r.value for r in rest} == {b"late"}


def test_a_waiting_reader_stops_promptly_and_gets_new_records(
    kafka: KafkaClient, topic_name: str
) -> None:
    kafka.create_topic(topic_name)
    kafka.produce(topic_name, [NewRecord(b"k", b"before")])
    stop = threading.Event()
    reader = kafka.consume(topic_name, from_beginning=False, stop=stop.is_set)
    timer = threading.Timer(0.2, kafka.produce, (topic_name, [NewRecord(b"k", b"after")]))
    timer.start()
    assert next(reader).value == b"after"
    timer.join()
    threading.Timer(0.2, stop.set).start()
    assert next(reader, None) is None
    assert stop.is_set()
    stopped = time.monotonic()
    assert list(kafka.consume(topic_name, stop=stop.is_set)) == []
    assert time.monotonic() - stopped < 2.0


def test_a_lost_broker_is_worth_another_try(capfd: pytest.CaptureFixture[str]) -> None:
    nowhere = choose_ports(None).bootstrap
    client = KafkaClient(nowhere, timeout=1.0)
    assert not client.reachable(0.2)
    for action in (
        client.topics,
        lambda: client.create_topic("t"),
        lambda: client.end_offsets("t"),
        lambda: client.produce("t", [NewRecord(b"k", b"v")]),
    ):
        with pytest.raises(ExternalError, match="no answer from Kafka") as raised:
            action()
        assert raised.value.retryable
    # The client library's own complaints stay out of the user's terminal.
    assert capfd.readouterr() == ("", "")


def test_who_reads_a_topic(kafka: KafkaClient, topic_name: str) -> None:
    kafka.create_topic(topic_name, 2)
    assert topic_name not in kafka.readers()
    groups = [f"{topic_name}-{end}" for end in ("a", "a", "b")]
    settings = {"bootstrap.servers": kafka.bootstrap, "log_level": 0}
    consumers = [Consumer({**settings, "group.id": group}) for group in groups]
    try:
        for consumer in consumers:
            consumer.subscribe([topic_name])

        def joined() -> bool:
            for consumer in consumers:
                consumer.poll(0.05)
            return kafka.readers().get(topic_name) == Readers(consumers=3, groups=2)

        await_until(joined, "both groups to share the partitions")
    finally:
        for consumer in consumers:
            consumer.close()


@pytest.fixture
def impatient(kafka: KafkaClient) -> Iterator[KafkaClient]:
    """A client whose records wait for five seconds at most."""
    client = KafkaClient(kafka.bootstrap, timeout=5)
    yield client
    client.close()


def test_a_topic_that_is_stuck_holds_up_no_other(impatient: KafkaClient, topic_name: str) -> None:
    # The producer looks for a topic that is not there for some seconds.
    stuck = f"{topic_name}-stuck"
    impatient.create_topic(topic_name)
    impatient.insert(topic_name, [NewRecord(b"k", b"v")])
    failures: list[ExternalError] = []

    def insert() -> None:
        with pytest.raises(ExternalError, match="cannot write") as caught:
            impatient.insert(stuck, [NewRecord(b"k", b"v")])
        failures.append(caught.value)

    waiting = threading.Thread(target=insert)
    waiting.start()
    assert impatient.insert(topic_name, [NewRecord(b"k", b"v")]) == {0: 2}
    assert waiting.is_alive()
    waiting.join(60)
    assert len(failures) == 1


def test_what_one_call_leaves_is_not_the_next_ones(impatient: KafkaClient, topic_name: str) -> None:
    # The producer looks for a topic that is not there for some seconds.
    stuck = f"{topic_name}-stuck"
    impatient.create_topic(topic_name)
    too_large = NewRecord(b"k", bytes(2_000_000))
    with pytest.raises(ExternalError, match=f"cannot write to {stuck}"):
        impatient.insert(stuck, [NewRecord(b"k", b"v", partition=0), too_large])
    assert impatient.insert(topic_name, [NewRecord(b"k", b"v")]) == {0: 1}


def test_calls_at_a_time_hear_of_their_own_records(kafka: KafkaClient, topic_name: str) -> None:
    names = [f"{topic_name}-{i}" for i in range(4)]
    for number, name in enumerate(names):
        kafka.create_topic(name, number + 1)

    def insert(number: int) -> dict[int, int]:
        found = {}
        for value in range(50):
            record = NewRecord(b"k", b"%d" % value, partition=number)
            found = kafka.insert(names[number], [record] * (number + 1))
        return found

    with ThreadPoolExecutor() as threads:
        found = list(threads.map(insert, range(4)))
    assert found == [{number: 50 * (number + 1)} for number in range(4)]
