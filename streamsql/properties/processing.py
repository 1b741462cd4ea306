"""Defaults of new queries: mode and commits."""

from __future__ import annotations

from streamsql.properties.definitions import PropertyDefinition, PropertyType

MODE = "processing.mode"
CATCH_UP_LAG = "processing.catch.up.lag"
COMMIT_INTERVAL = "processing.commit.interval.ms"
BATCH_INTERVAL = "processing.batch.interval.ms"
VIEW_FRESHNESS = "streamsql.view.freshness.ms"
VIEW_EPOCHS = "streamsql.view.epochs"
GUARANTEE = "processing.guarantee"
TRANSACTION_INTERVAL = "streamsql.commit.interval.ms"
ON_DATA_LOSS = "streamsql.on.data.loss"
ON_TRUNCATE = "streamsql.on.truncate"
MAX_AHEAD = "streamsql.timestamp.max.ahead.ms"
STOPPED_BY = (ON_DATA_LOSS, ON_TRUNCATE)
"""Conditions that stop a query, unless the property is `continue` when it is created or resumed."""

DEFINITIONS = (
    PropertyDefinition(
        MODE,
        PropertyType.TEXT,
        "auto",
        "How new queries run once caught up: auto (real time where possible), realtime "
        "(rejected where not possible) or microbatch.",
        choices=("auto", "realtime", "microbatch"),
    ),
    PropertyDefinition(
        CATCH_UP_LAG,
        PropertyType.INTEGER,
        "200000",
        "How many records a real-time query may be behind before it catches up in "
        "micro-batches again.",
        minimum=1000,
    ),
    PropertyDefinition(
        COMMIT_INTERVAL,
        PropertyType.INTEGER,
        "60000",
        "How long new real-time queries run between two commits, in milliseconds; where many "
        "run, some commit earlier, so that they do not all at once. A commit holds up the "
        "records of a moment; after a failure, what was read since is processed again.",
        minimum=5000,
        maximum=86_400_000,
    ),
    PropertyDefinition(
        BATCH_INTERVAL,
        PropertyType.INTEGER,
        None,
        "The least time, in milliseconds, between the begins of two micro-batches of a new query "
        "that has caught up. Unset: a query rests between two batches for three times as long "
        "as a batch takes, at most a second, so that a batch, which costs about the same however "
        "few records it has, does not keep a processor busy. 0: no rest.",
        maximum=3_600_000,
    ),
    PropertyDefinition(
        VIEW_FRESHNESS,
        PropertyType.INTEGER,
        "250",
        "The least time, in milliseconds, between two epochs of a new materialized view: how long "
        "it gathers changes before it takes them together.",
        maximum=3_600_000,
    ),
    PropertyDefinition(
        VIEW_EPOCHS,
        PropertyType.TEXT,
        "all",
        "Whether a new materialized view does each epoch (all) or may leave some out (skip). Both "
        "are the same: a view that keeps up does each, and one that is behind, or reads one that "
        "was, takes several in one step.",
        choices=("all", "skip"),
    ),
    PropertyDefinition(
        GUARANTEE,
        PropertyType.TEXT,
        "at_least_once",
        "How new queries deliver when something fails: at_least_once, or exactly_once (the same "
        "as exactly_once_v2), where a reader of committed data sees each row once.",
        choices=("at_least_once", "exactly_once", "exactly_once_v2"),
    ),
    PropertyDefinition(
        TRANSACTION_INTERVAL,
        PropertyType.INTEGER,
        "100",
        "How long a real-time query with exactly_once keeps a transaction open, in "
        "milliseconds: so far are readers of committed data behind.",
        minimum=10,
        maximum=600_000,
    ),
    PropertyDefinition(
        ON_DATA_LOSS,
        PropertyType.TEXT,
        "stop",
        "What new queries, and those that are resumed, do about records that Kafka deleted before "
        "they read them: stop (with an error), or continue (with an entry in the processing log).",
        choices=("stop", "continue"),
    ),
    PropertyDefinition(
        ON_TRUNCATE,
        PropertyType.TEXT,
        "stop",
        "What new queries, and those that are resumed, do where the table of a database was "
        "truncated, which does not say its rows: stop (with an error), or continue (the rows "
        "stay). Either is an entry in the processing log.",
        choices=("stop", "continue"),
    ),
    PropertyDefinition(
        MAX_AHEAD,
        PropertyType.INTEGER,
        "3600000",
        "How far, in milliseconds, the time that a TIMESTAMP column gives a record may be ahead of "
        "the clock when the record is read. A record beyond that is left out, with an entry in the "
        "processing log: its time would close all windows before it.",
        minimum=0,
    ),
)
