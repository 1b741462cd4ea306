"""Records written into topics, of files or made up, without an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.load import (
    NEXMARK,
    NEXMARK_COLUMNS,
    SCHEMAS,
    GenerateSpec,
    KeyColumn,
    LoadSpec,
    Progress,
    Summary,
    generate,
    generate_nexmark,
    load,
)

__all__ = [
    "NEXMARK",
    "NEXMARK_COLUMNS",
    "SCHEMAS",
    "GenerateSpec",
    "KafkaClient",
    "KeyColumn",
    "LoadSpec",
    "Progress",
    "Summary",
    "generate",
    "generate_nexmark",
    "cluster",
    "load",
]


Fetched = Callable[[int, int, str], None]
"""Told of the embedded broker's files: how many are there, of how many, and the last one's name."""


@contextmanager
def cluster(
    servers: str | None,
    security: Mapping[str, str],
    data: DataDir,
    starting: Callable[[], AbstractContextManager[Fetched]],
) -> Iterator[KafkaClient]:
    """A client for `load` and `generate`; `security` in the words of Kafka's Java client.

    `servers` None: of the data folder's embedded broker, which runs as long as this at least;
    `starting` is entered while it is started.
    """
    if servers is not None:
        with closing(KafkaClient(servers, security=security)) as client:
            yield client
        return
    with starting() as progress:
        broker = EmbeddedBroker(data, progress)
        servers = broker.start()
    try:
        with closing(KafkaClient(servers)) as client:
            yield client
    finally:
        broker.stop()
