"""Transfers between ten accounts, as one view and as views over views: the total is 0 at every
moment."""

from __future__ import annotations

import json
import random

from confluent_kafka import Producer
from views.whole_epochs import whole_epochs

from streamsql.kafka.client import KafkaClient

ACCOUNTS = 10

TRANSFERS = """
CREATE STREAM transfers (source INT, target INT, amount INT)
  WITH (KAFKA_TOPIC='transfers', PARTITIONS=2, VALUE_FORMAT='JSON');

CREATE MATERIALIZED VIEW balances AS
  WITH c AS (SELECT target AS a, SUM(amount) AS s FROM transfers GROUP BY target),
    d AS (SELECT source AS a, SUM(amount) AS s FROM transfers GROUP BY source)
  SELECT COALESCE(c.a, d.a) AS account, COALESCE(c.s, 0) - COALESCE(d.s, 0) AS balance
  FROM c FULL JOIN d ON c.a = d.a;

CREATE MATERIALIZED VIEW totals AS
  WITH c AS (SELECT target AS a, SUM(amount) AS s FROM transfers GROUP BY target),
    d AS (SELECT source AS a, SUM(amount) AS s FROM transfers GROUP BY source)
  SELECT SUM(COALESCE(c.s, 0) - COALESCE(d.s, 0)) AS total FROM c FULL JOIN d ON c.a = d.a;

CREATE MATERIALIZED VIEW credits AS
  SELECT target AS account, SUM(amount) AS credits FROM transfers GROUP BY target;

CREATE MATERIALIZED VIEW debits AS
  SELECT source AS account, SUM(amount) AS debits FROM transfers GROUP BY source;

CREATE MATERIALIZED VIEW differences AS
  SELECT c.account, c.credits - d.debits AS balance
  FROM credits c JOIN debits d ON c.account = d.account;

CREATE MATERIALIZED VIEW sums AS SELECT SUM(balance) AS total, COUNT(*) AS n FROM differences;
"""


class Transfers:
    """Transfers of 1 between random accounts."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self._chance = random.Random(seed)
        self._client = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self.balances = dict.fromkeys(range(ACCOUNTS), 0)

    def send(self, count: int) -> None:
        for _ in range(count):
            source, target = self._chance.sample(range(ACCOUNTS), 2)
            self.balances[source] -= 1
            self.balances[target] += 1
            value = {"SOURCE": source, "TARGET": target, "AMOUNT": 1}
            self._client.produce(
                "transfers", json.dumps(value), partition=self._chance.randrange(2)
            )
        self._client.flush()


def sums_of_epochs(kafka: KafkaClient) -> list[int]:
    """Of all balances in `differences`, at each epoch at which all accounts have one."""
    epochs = whole_epochs(kafka, "DIFFERENCES").values()
    balances = [[json.loads(value)["BALANCE"] for value in rows.values()] for rows in epochs]
    return [sum(each) for each in balances if len(each) == ACCOUNTS]
