"""The figures of the console, SHOW QUERIES EXTENDED and /metrics, against what a producer and a
consumer of the same topics measure."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from awaiting import await_until
from confluent_kafka import Consumer, Producer
from prometheus_client.parser import text_string_to_metric_families
from server.live import SECONDS, LiveServer

from streamsql.kafka.client import KafkaClient
from streamsql.results import Rows, Text

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

RATE = 200
LOOKS = 20
ACK_SECONDS = 0.5
"""A result may be received before the engine knows that it has been written."""
ALLOWED = 0.1
ALLOWED_MS = 5.0
TOPICS = "figures_in", "figures_out"
PREPARE = f"""
CREATE STREAM figures (k STRING KEY, n INT, at BIGINT)
  WITH (KAFKA_TOPIC='{TOPICS[0]}', VALUE_FORMAT='JSON', PARTITIONS=2);
CREATE TABLE figured WITH (KAFKA_TOPIC='{TOPICS[1]}') AS
  SELECT k, COUNT(*) AS n, LATEST_BY_OFFSET(at) AS at FROM figures GROUP BY k;
"""
TIDY = "DROP TABLE figured DELETE TOPIC; DROP STREAM figures DELETE TOPIC;"


class Flow:
    """Records that a producer sends at a steady rate, and the results that a consumer receives."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "figures", "auto.offset.reset": "earliest"}
        )
        self._consumer.subscribe([TOPICS[1]])
        self._stopped = threading.Event()
        self.sent: list[float] = []
        self.received: list[float] = []
        self.latencies: list[float] = []
        """In ms: from the time of a result's record to the result's arrival."""
        self.written: list[float] = []
        """In ms: from the time of a result's record to when the broker appended the result."""

    def _send(self) -> None:
        begun = time.time()
        while not self._stopped.is_set():
            due = begun + len(self.sent) / RATE
            time.sleep(max(0.0, due - time.time()))
            self.send()

    def send(self) -> None:
        n = len(self.sent)
        self.sent.append(time.time())
        at = int(self.sent[-1] * 1000)
        row = json.dumps({"N": n, "AT": at})
        self._producer.produce(TOPICS[0], row, f"k{n % 7}", timestamp=at)
        self._producer.poll(0)

    def flush(self) -> None:
        self._producer.flush(SECONDS)

    def _receive(self) -> None:
        while not self._stopped.is_set():
            for message in self._consumer.consume(500, 0.05):
                assert message.error() is None, message.error()
                now, at = time.time(), json.loads(message.value())["AT"]
                self.received.append(now)
                self.latencies.append(now * 1000 - at)
                self.written.append(message.timestamp()[1] - at)

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=each) for each in (self._send, self._receive)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def close(self) -> None:
        self._consumer.close()

    @staticmethod
    def rate(events: list[float], begin: float, end: float) -> float:
        """Events a second between two times."""
        return (bisect_right(events, end) - bisect_right(events, begin)) / (end - begin)

    def bounds(self, at: float) -> tuple[int, int]:
        """The bounds of the records read, and of the results written, by then:
        the results that had been received, and the records that had been sent."""
        millisecond = 0.001  # the resolution of times
        least = bisect_right(self.received, at - millisecond)
        return least, bisect_right(self.sent, at + millisecond)


class Shown:
    """What a server shows of one query."""

    def __init__(self, server: LiveServer, query_id: str) -> None:
        self._server = server
        self._id = query_id

    def runs(self) -> bool:
        """Whether the console says so; what it shows may be a second old."""
        found = self._server.client.get("/streamsql/graph").json()["queries"]
        return any(query["id"] == self._id and query["state"] == "RUNNING" for query in found)

    def graph(self) -> dict[str, Any]:
        """As the console has it."""
        found = self._server.client.get("/streamsql/graph").json()
        query: dict[str, Any] = next(q for q in found["queries"] if q["id"] == self._id)
        return {**query, "at": found["at"]}

    def metrics(self) -> dict[str, float]:
        """Of Prometheus, by name and the labels other than the query."""
        found = {}
        text = self._server.client.get("/metrics").text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.labels.get("query_id") == self._id:
                    more = [v for k, v in sorted(sample.labels.items()) if k != "query_id"]
                    name = sample.name.removeprefix("streamsql_query_")
                    found[" ".join([name, *more])] = sample.value
        return found

    def extended(self) -> tuple[str, list[int]]:
        """What SHOW QUERIES EXTENDED says, and the lag of each partition."""
        results = list(self._server.engine.execute("SHOW QUERIES EXTENDED;"))
        texts = [r.text if isinstance(r, Text) else "" for r in results]
        place = next(i for i, text in enumerate(texts) if f": {self._id}\n" in text)
        rows = results[place + 1]
        assert isinstance(rows, Rows)
        return texts[place], [row[-1] for row in rows.rows]


def share(values: list[float], percent: float) -> float:
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


@pytest.fixture
def shown(server: LiveServer, kafka: KafkaClient) -> Iterator[Shown]:
    # The broker tells when it appended each result: a receiver alone adds its own delay.
    kafka.create_topic(TOPICS[1], 1, config={"message.timestamp.type": "LogAppendTime"})
    server.ksql(PREPARE)
    (query_id,) = (q.id for q in server.engine.queries() if q.sink == "FIGURED")
    shown = Shown(server, query_id)
    await_until(shown.runs, "it to run", SECONDS)
    yield shown
    server.ksql(TIDY)


@pytest.fixture
def flow(server: LiveServer, shown: Shown) -> Iterator[Flow]:
    flow = Flow(server.engine.inspection.bootstrap_servers() or "")
    yield flow
    flow.close()


def test_lag_counts_and_rates_are_what_is_measured(shown: Shown, flow: Flow) -> None:
    with flow.running():
        await_until(lambda: len(flow.received) > RATE, "results", SECONDS)
        looks, exported = [], []
        while len(looks) < LOOKS:
            looks.append(shown.graph())
            begin = time.time()
            exported.append((begin, shown.metrics(), time.time()))
            time.sleep(0.7)
    for look in looks:
        (read,) = look["reads"]
        at = look["readAt"] / 1000
        least, most = flow.bounds(at)
        assert read["lag"] == look["lag"]
        assert 0 <= read["lag"] <= most - least, (at, read)
        assert least <= read["offset"] <= flow.bounds(at + ACK_SECONDS)[1]
        at = look["at"] / 1000
        least, most = flow.bounds(at - ACK_SECONDS)[0], flow.bounds(at)[1]
        assert least <= look["records_out"] <= most and least <= look["records_in"] <= most
    for begin, metrics, end in exported:
        least, most = flow.bounds(begin - ACK_SECONDS)[0], flow.bounds(end)[1]
        for counter in ("records_in_total", "records_out_total"):
            assert least <= metrics[counter] <= most, counter
    for counter in ("records_in", "records_out"):
        console = [(look["at"] / 1000, look[counter]) for look in looks]
        prometheus = [(begin, metrics[f"{counter}_total"]) for begin, metrics, _ in exported]
        for (begin, first), *_, (end, last) in (console, prometheus):
            rate = (last - first) / (end - begin)
            measured = [flow.rate(events, begin, end) for events in (flow.sent, flow.received)]
            assert min(measured) * (1 - ALLOWED) <= rate <= max(measured) * (1 + ALLOWED), counter


def test_latencies_are_what_is_measured(shown: Shown, flow: Flow) -> None:
    with flow.running():
        await_until(lambda: len(flow.received) > LOOKS * RATE, "results", SECONDS)
    console = shown.graph()["latency"]["1m"]
    metrics, (text, _) = shown.metrics(), shown.extended()
    after = shown.graph()["latency"]["1m"]
    for name, percent, quantile in (("p50", 50, 0.5), ("p95", 95, 0.95), ("p99", 99, 0.99)):
        written, received = share(flow.written, percent), share(flow.latencies, percent)
        figures = f"{name}: shown {console[name]}, appended {written}, received {received:.1f} ms"
        print(figures)
        # The acknowledgement, which the engine takes for the end, follows the append.
        least = min(written * (1 - ALLOWED), written - ALLOWED_MS)
        most = max(received * (1 + ALLOWED), received + ALLOWED_MS)
        assert least <= console[name] <= most, figures
        exported = metrics[f"latency_quantile_seconds {quantile} 1m"] * 1000
        bounds = sorted((console[name], after[name]))
        assert bounds[0] <= round(exported) <= bounds[1]
        said = re.search(rf"Latency 1m *: .*{name} ([\d,]+) ms", text)
        assert said and bounds[0] <= int(said[1].replace(",", "")) <= bounds[1]


def test_the_lag_of_a_paused_query_is_the_same_everywhere(
    server: LiveServer, shown: Shown, flow: Flow
) -> None:
    server.ksql(f"PAUSE {shown.graph()['id']};")
    for _ in range(500):
        flow.send()
    flow.flush()
    await_until(lambda: shown.graph()["lag"] == 500, "the records to be seen", SECONDS)
    (read,) = shown.graph()["reads"]
    text, partitions = shown.extended()
    assert read["lag"] == sum(partitions) == shown.metrics()["lag_records"] == 500
    assert "Lag         : 500 records" in text
