"""Settings of Kafka Streams, its clients and ksqlDB without effect. SET accepts them with a notice
that names the equivalent."""

from __future__ import annotations

_NONE = "It has no counterpart here."
_CONSUMER = "Spark's source reads the topics: 'streamsql.records.per.batch' bounds a micro-batch."
_PRODUCER = (
    "Sinks wait until all in-sync replicas have a row; 'processing.guarantee' sets their guarantee."
)
_KAFKA = "The file of --kafka-config sets how the engine connects to Kafka."

_NOTICES: dict[str, str] = {
    "commit.interval.ms": "'processing.commit.interval.ms' sets how often a real-time query "
    "commits, and 'streamsql.commit.interval.ms' how often its transactions do.",
    "cache.max.bytes.buffering statestore.cache.max.bytes": "There is no cache before a table's "
    "topic: each change of a row is written in real time, and the last one of a micro-batch. "
    "'processing.batch.interval.ms' sets how far micro-batches are apart.",
    "num.stream.threads ksql.query.persistent.threads": "'streamsql.task.slots' sets the threads "
    "of the engine, 'streamsql.shuffle.partitions' the tasks of a query.",
    "ksql.sink.partitions": "WITH (PARTITIONS=..) sets the partitions of a statement's topic.",
    "ksql.sink.replicas replication.factor": "WITH (REPLICAS=..) sets the replicas of a "
    "statement's topic.",
    "ksql.sink.window.change.log.additional.retention windowstore.changelog.additional.retention.ms"
    "": "WITH (RETENTION_MS=..) sets the retention of a topic, GRACE PERIOD how long a window "
    "takes rows.",
    "default.timestamp.extractor": "WITH (TIMESTAMP=..) names the column of a record's time.",
    "default.deserialization.exception.handler deserialization.exception.handler "
    "default.production.exception.handler production.exception.handler "
    "processing.exception.handler ksql.fail.on.deserialization.error "
    "ksql.fail.on.production.error": "A record that fails goes to the processing log, and the "
    "query continues.",
    "application.id group.id ksql.service.id": "--service-id names the service of a server.",
    "state.dir": "--data names the folder of state and checkpoints.",
    "rocksdb.config.setter": "'streamsql.state.memory.mb' bounds the memory of all state.",
    "num.standby.replicas max.warmup.replicas probing.rebalance.interval.ms "
    "acceptable.recovery.lag rack.aware.assignment.tags": "State is restored from the query's "
    "checkpoint.",
    "max.task.idle.ms buffered.records.per.partition": "A query over several topics takes a "
    "backlog in the order of time.",
    "retries task.timeout.ms ksql.query.retry.backoff.initial.ms ksql.query.retry.backoff.max.ms": (
        "A query that an outage stops is started again when the outage is over."
    ),
    "fetch.max.bytes fetch.max.wait.ms fetch.min.bytes max.partition.fetch.bytes max.poll.records "
    "max.poll.interval.ms": _CONSUMER,
    "acks batch.size buffer.memory compression.type delivery.timeout.ms enable.idempotence "
    "linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size "
    "transaction.timeout.ms transactional.id": _PRODUCER,
    "bootstrap.servers client.id client.dns.lookup connections.max.idle.ms "
    "default.api.timeout.ms metadata.max.age.ms reconnect.backoff.max.ms reconnect.backoff.ms "
    "request.timeout.ms retry.backoff.max.ms retry.backoff.ms security.protocol": _KAFKA,
    "allow.auto.create.topics auto.commit.interval.ms check.crcs client.rack "
    "default.key.serde default.value.serde default.list.key.serde.inner "
    "default.list.value.serde.inner dsl.store.suppliers.class default.dsl.store "
    "enable.auto.commit enable.metrics.push ensure.explicit.internal.resource.naming "
    "exclude.internal.topics group.instance.id group.protocol heartbeat.interval.ms "
    "interceptor.classes isolation.level log.summary.interval.ms metric.reporters "
    "metrics.num.samples metrics.recording.level metrics.sample.window.ms "
    "min.insync.replicas partition.assignment.strategy partition.grouper partitioner.class "
    "poll.ms receive.buffer.bytes repartition.purge.interval.ms send.buffer.bytes "
    "session.timeout.ms state.cleanup.delay.ms topology.optimization upgrade.from "
    "window.size.ms windowed.inner.class.serde ksql.windowed.session.key.legacy "
    "ksql.query.push.v2.enabled ksql.query.pull.consistency.token.enabled "
    "ksql.query.pull.max.qps ksql.query.pull.max.concurrent.requests "
    "ksql.query.pull.router.thread.pool.size ksql.query.pull.thread.pool.size "
    "ksql.query.pull.max.allowed.offset.lag ksql.query.pull.enable.standby.reads "
    "ksql.query.pull.interpreter.enabled ksql.udfs.enabled ksql.udf.collect.metrics "
    "ksql.udf.enable.security.manager "
    "ksql.persistent.prefix ksql.transient.prefix ksql.runtime.feature.shared.enabled "
    "ksql.headers.columns.enabled ksql.lambdas.enabled ksql.rowpartition.rowoffset.enabled "
    "ksql.multicol.key.format.enabled ksql.query.error.max.queue.size "
    "ksql.metrics.tags.custom ksql.any.key.name.enabled": _NONE,
}
_BY_NAME = {name: notice for names, notice in _NOTICES.items() for name in names.split()}

_CLIENTS = {
    "main.consumer.": _CONSUMER,
    "restore.consumer.": _CONSUMER,
    "global.consumer.": _CONSUMER,
    "consumer.": _CONSUMER,
    "producer.": _PRODUCER,
    "admin.": _KAFKA,
}
_BY_PREFIX = {
    **_CLIENTS,
    "sasl.": _KAFKA,
    "ssl.": _KAFKA,
    "topic.": "State is kept without internal topics.",
    "ksql.streams.": _NONE,
}
_OF_KSQLDB = ("confluent.", "request.ksql.", "ksql.")


def bare(name: str) -> str:
    """The name without the prefix of a Kafka Streams client."""
    name = name.removeprefix("ksql.streams.")
    return next((name.removeprefix(p) for p in _CLIENTS if name.startswith(p)), name)


def notice(name: str) -> str | None:
    """The equivalent of a foreign setting; None for an unknown name."""
    lower = name.strip().lower()
    found = _BY_NAME.get(bare(lower)) or _by_prefix(lower)
    return None if found is None else f"'{name}' has no effect. {found}"


def _by_prefix(name: str) -> str | None:
    names = (name.removeprefix("ksql.streams."), name)
    found = (text for n in names for prefix, text in _BY_PREFIX.items() if n.startswith(prefix))
    return next(found, None)


def sent_by_clients(name: str) -> bool:
    """Whether clients and configurations of ksqlDB may send it, including any name of ksqlDB's."""
    return notice(name) is not None or name.lower().startswith(_OF_KSQLDB)
