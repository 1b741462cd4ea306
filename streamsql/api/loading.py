"""Loading files and generated records into topics, without an engine."""

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
"""Progress of downloading the embedded broker: files done, files in total, name of the last one."""


@contextmanager
def cluster(
    servers: str | None,
    security: Mapping[str, str],
    data: DataDir,
    starting: Callable[[], AbstractContextManager[Fetched]],
) -> Iterator[KafkaClient]:
    """A client for `load` and `generate`; `security` has the property names of Kafka's Java client.
    `servers` None: the data folder's embedded broker, which runs at least as long; `starting` is
    entered during its start."""
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
