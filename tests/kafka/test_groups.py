"""Who reads a topic, where Kafka lists its consumer groups in part only."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from streamsql.kafka.groups import readers


class Listing:
    """A cluster with the group `readers`; one broker answers with an error, or none does."""

    def __init__(self, *errors: KafkaException) -> None:
        self.errors = list(errors)

    def list_consumer_groups(self, **_: object) -> Future[Any]:
        group = SimpleNamespace(group_id="readers")
        return done(SimpleNamespace(valid=[group], errors=self.errors))

    def describe_consumer_groups(self, names: list[str], **_: object) -> dict[str, Future[Any]]:
        partitions = [SimpleNamespace(topic="t")]
        assignment = SimpleNamespace(topic_partitions=partitions)
        member = SimpleNamespace(member_id="m", assignment=assignment)
        return {name: done(SimpleNamespace(members=[member])) for name in names}


def done(value: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def test_a_partial_list_of_groups_is_no_list() -> None:
    assert readers(cast(AdminClient, Listing()), 1.0)["t"].groups == 1
    error = KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))
    with pytest.raises(KafkaException) as raised:
        readers(cast(AdminClient, Listing(error)), 1.0)
    assert raised.value is error
