"""Session properties (SET 'name' = 'value'): names, types, defaults and meaning. Values are stored
as text by canonical name and parsed here. SHOW PROPERTIES, completion and the documentation read
PROPERTIES."""

from __future__ import annotations

import re
from collections.abc import Mapping

from streamsql.errors import ConfigError, did_you_mean
from streamsql.ksqldb import says
from streamsql.properties import foreign, processing, schema_registry, sizes
from streamsql.properties.definitions import PropertyDefinition, PropertyType

_INTEGER_TEXT = re.compile(r"-?[0-9]{1,18}")
_TEXT, _BOOLEAN, _INTEGER = PropertyType.TEXT, PropertyType.BOOLEAN, PropertyType.INTEGER

AUTO_OFFSET_RESET = "auto.offset.reset"
PROCESSING_MODE = processing.MODE
CATCH_UP_LAG = processing.CATCH_UP_LAG
COMMIT_INTERVAL = processing.COMMIT_INTERVAL
BATCH_INTERVAL = processing.BATCH_INTERVAL
VIEW_FRESHNESS = processing.VIEW_FRESHNESS
GUARANTEE = processing.GUARANTEE
TRANSACTION_INTERVAL = processing.TRANSACTION_INTERVAL
ON_DATA_LOSS = processing.ON_DATA_LOSS
ON_TRUNCATE = processing.ON_TRUNCATE
MAX_AHEAD = processing.MAX_AHEAD
SHUFFLE_PARTITIONS = sizes.SHUFFLE_PARTITIONS
RECORDS_PER_BATCH = sizes.RECORDS_PER_BATCH
DEFAULT_KEY_FORMAT = "ksql.persistence.default.format.key"
DEFAULT_VALUE_FORMAT = "ksql.persistence.default.format.value"
WRAP_SINGLE_VALUES = "ksql.persistence.wrap.single.values"
TOPIC_PREFIX = "ksql.output.topic.name.prefix"
INHERIT_REPLICAS = "ksql.create.topic.inherit.source.replicas.enabled"
CREATE_OR_REPLACE = "ksql.create.or.replace.enabled"
INSERT_INTO_VALUES = "ksql.insert.into.values.enabled"
EMIT_FINAL = "ksql.suppress.enabled"
COLLECT_LIST_LIMIT = "ksql.functions.collect_list.limit"
COLLECT_SET_LIMIT = "ksql.functions.collect_set.limit"
TIMESTAMP_THROW_ON_INVALID = "ksql.timestamp.throw.on.invalid"
VARIABLE_SUBSTITUTION = "ksql.variable.substitution.enable"
ASSERT_TOPIC_TIMEOUT = "ksql.assert.topic.default.timeout.ms"
CONNECT_URL = "ksql.connect.url"
CONNECT_USER = "ksql.connect.basic.auth.user.info"
SCHEMA_REGISTRY_URL = schema_registry.URL
SCHEMA_REGISTRY_USER = schema_registry.USER
ASSERT_SCHEMA_TIMEOUT = "ksql.assert.schema.default.timeout.ms"
LOG_ROWS = "ksql.logging.processing.rows.include"
CONSISTENCY_TOKEN = "streamsql.consistency.token"
VIEW_HISTORY = "streamsql.view.history.ms"
VIEW_EPOCH = "streamsql.view.epoch"
VIEW_PROGRESS = "streamsql.view.progress"
CONSISTENCY_TIMEOUT = "streamsql.consistency.timeout.ms"
POSTGRES_VERSION = "15.0"
"""Version of PostgreSQL that clients see."""
SEMANTICS = "streamsql.sql.semantics"
IMPLICIT_FLUSH = "streamsql.view.implicit.flush"
PULL_ENABLED = "ksql.pull.queries.enable"
PULL_TABLE_SCAN = "ksql.query.pull.table.scan.enabled"
PULL_RANGE_SCAN = "ksql.query.pull.range.scan.enabled"
PULL_STREAM = "ksql.query.pull.stream.enabled"
PULL_LIMIT = "ksql.query.pull.limit.clause.enabled"

PROPERTIES: dict[str, PropertyDefinition] = {
    p.name: p
    for p in (
        PropertyDefinition(
            AUTO_OFFSET_RESET,
            _TEXT,
            "earliest",
            "Where a new query begins to read its topics: earliest (all records) or latest.",
            choices=("earliest", "latest"),
        ),
        *processing.DEFINITIONS,
        *sizes.DEFINITIONS,
        PropertyDefinition(
            DEFAULT_KEY_FORMAT, _TEXT, "KAFKA", "The KEY_FORMAT of statements that give none."
        ),
        PropertyDefinition(
            DEFAULT_VALUE_FORMAT, _TEXT, None, "The VALUE_FORMAT of statements that give none."
        ),
        PropertyDefinition(
            WRAP_SINGLE_VALUES,
            _BOOLEAN,
            None,
            "Whether a lone value column is written inside a record; unset: as the format does.",
        ),
        PropertyDefinition(
            TOPIC_PREFIX, _TEXT, "", "Put before the names of topics made by CREATE .. AS SELECT."
        ),
        PropertyDefinition(
            INHERIT_REPLICAS,
            _BOOLEAN,
            "true",
            "Whether a new topic takes the number of replicas of the source's topic.",
        ),
        PropertyDefinition(
            CREATE_OR_REPLACE, _BOOLEAN, "true", "Whether CREATE OR REPLACE is allowed."
        ),
        PropertyDefinition(
            INSERT_INTO_VALUES, _BOOLEAN, "true", "Whether INSERT INTO .. VALUES is allowed."
        ),
        PropertyDefinition(EMIT_FINAL, _BOOLEAN, "true", "Whether EMIT FINAL is allowed."),
        PropertyDefinition(
            COLLECT_LIST_LIMIT,
            _INTEGER,
            "1000",
            "The most elements that COLLECT_LIST keeps; later ones are dropped.",
            minimum=1,
        ),
        PropertyDefinition(
            COLLECT_SET_LIMIT,
            _INTEGER,
            "1000",
            "The most elements that COLLECT_SET keeps; later ones are dropped.",
            minimum=1,
        ),
        PropertyDefinition(
            TIMESTAMP_THROW_ON_INVALID,
            _BOOLEAN,
            "false",
            "Whether a record whose TIMESTAMP column cannot be read stops the query "
            "(instead of being skipped).",
        ),
        *schema_registry.DEFINITIONS,
        PropertyDefinition(
            VARIABLE_SUBSTITUTION, _BOOLEAN, "true", "Whether ${name} is replaced by a variable."
        ),
        PropertyDefinition(
            ASSERT_TOPIC_TIMEOUT,
            _INTEGER,
            "1000",
            "How long ASSERT TOPIC waits by default, in milliseconds.",
            maximum=3_600_000,
        ),
        PropertyDefinition(
            CONNECT_URL,
            _TEXT,
            None,
            "The REST API of the Kafka Connect cluster that runs connectors.",
        ),
        PropertyDefinition(
            CONNECT_USER,
            _TEXT,
            None,
            "Name and password for Kafka Connect's basic authentication: name:password.",
            secret=True,
        ),
        PropertyDefinition(
            ASSERT_SCHEMA_TIMEOUT,
            _INTEGER,
            "1000",
            "How long ASSERT SCHEMA waits by default, in milliseconds.",
            maximum=3_600_000,
        ),
        PropertyDefinition(
            LOG_ROWS,
            _BOOLEAN,
            "false",
            "Whether the processing log also holds the data of the records that failed.",
        ),
        PropertyDefinition(
            CONSISTENCY_TOKEN,
            _TEXT,
            None,
            "What pull queries wait for: the token that an INSERT INTO .. VALUES gave, or several "
            "with commas between.",
        ),
        PropertyDefinition(
            CONSISTENCY_TIMEOUT,
            _INTEGER,
            "10000",
            "How long a pull query waits for the writes of its token, in milliseconds.",
            maximum=60_000,
        ),
        PropertyDefinition(
            VIEW_HISTORY,
            _INTEGER,
            "600000",
            "How long the rows of past epochs of materialized views can be read, in milliseconds.",
            maximum=86_400_000,
            at_start=True,
        ),
        PropertyDefinition(
            VIEW_EPOCH,
            _INTEGER,
            None,
            "The epoch as of which pull queries read materialized views; unset: the newest one.",
            minimum=1,
        ),
        PropertyDefinition(
            VIEW_PROGRESS,
            _BOOLEAN,
            "false",
            "Whether push queries over materialized views tell of each epoch that is complete.",
        ),
        PropertyDefinition(
            SEMANTICS,
            _TEXT,
            "ksqldb",
            "The meaning of a SELECT without EMIT: ksqldb's, or that of standard SQL, which "
            "sessions of the PostgreSQL port begin with.",
            choices=("ksqldb", "standard"),
        ),
        PropertyDefinition(
            IMPLICIT_FLUSH,
            _BOOLEAN,
            "false",
            "Whether each statement that changes rows waits until every query has processed them, "
            "as FLUSH does.",
        ),
        PropertyDefinition(
            PULL_ENABLED,
            _BOOLEAN,
            "true",
            "Whether pull queries (SELECT without EMIT) are allowed.",
        ),
        PropertyDefinition(
            PULL_TABLE_SCAN,
            _BOOLEAN,
            "true",
            "Whether pull queries may look at more than the rows of given keys: scans, joins, "
            "aggregations and all else that Spark answers.",
        ),
        PropertyDefinition(
            PULL_RANGE_SCAN,
            _BOOLEAN,
            "true",
            "Whether pull queries may look up a range of keys where table scans are not allowed.",
        ),
        PropertyDefinition(
            PULL_STREAM,
            _BOOLEAN,
            "true",
            "Whether pull queries may read the history of a stream.",
        ),
        PropertyDefinition(PULL_LIMIT, _BOOLEAN, "true", "Whether pull queries may have a LIMIT."),
    )
}

CONNECTIONS: dict[str, tuple[str, ...]] = {
    SCHEMA_REGISTRY_URL: schema_registry.CREDENTIALS,
    schema_registry.ISSUER_URL: (schema_registry.CLIENT_SECRET,),
    CONNECT_URL: (CONNECT_USER,),
}

ADMINS = frozenset(
    {*CONNECTIONS, schema_registry.CA, schema_registry.CERTIFICATE, schema_registry.KEY}
)
"""Properties that require an administrator: they name other systems, or files of the server's
machine."""

OF_QUERIES = (*(p.name for p in processing.DEFINITIONS), RECORDS_PER_BATCH, LOG_ROWS)
"""Properties of how a query runs and delivers, which ALTER QUERY can change."""

HIDDEN = "[hidden]"

PREFIXES = ("ksql.streams.", "streamsql.", "ksql.")
"""Optional prefixes of names."""


def resolve(name: str) -> PropertyDefinition:
    """The property of a name with or without a prefix; ConfigError if unknown."""
    lower = name.strip().lower()
    for candidate in _spellings(lower):
        if candidate in PROPERTIES:
            return PROPERTIES[candidate]
    raise ConfigError(
        f"Not recognizable as a streamsql property: '{name}'",
        hint=did_you_mean(lower, PROPERTIES) or "SHOW PROPERTIES lists the properties.",
        ksqldb=says("unknown-property", name=name),
    )


def _spellings(name: str) -> list[str]:
    """The name, without each known prefix, and with each."""
    bare = [name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)]
    return [name, *bare, foreign.bare(name), *(f"ksql.{n}" for n in (name, *bare))]


def foreign_notice(name: str) -> str | None:
    """The equivalent of a setting of Kafka Streams, its clients or ksqlDB; None for others."""
    if any(candidate in PROPERTIES for candidate in _spellings(name.strip().lower())):
        return None
    return foreign.notice(name)


def settable(name: str) -> PropertyDefinition:
    """The property, if a session may change it; otherwise ConfigError."""
    definition = resolve(name)
    if definition.at_start:
        raise ConfigError(
            f"'{definition.name}' cannot be changed while the engine runs",
            hint=f"Start it with --property {definition.name}=VALUE.",
        )
    return definition


def validate(name: str, value: str, *, bounded: bool = True) -> tuple[str, str]:
    """Canonical name and value of a SET; ConfigError if invalid. `bounded` checks the range of an
    INTEGER."""
    definition = resolve(name)
    return definition.name, _checked(definition, value.strip(), bounded)


def _checked(definition: PropertyDefinition, value: str, bounded: bool) -> str:
    if definition.choices:
        for choice in definition.choices:
            if value.lower() == choice.lower():
                return choice
        raise _invalid(
            definition,
            value,
            did_you_mean(value, definition.choices) or f"Use {' or '.join(definition.choices)}.",
        )
    if definition.type is PropertyType.BOOLEAN:
        if value.lower() in ("true", "false"):
            return value.lower()
        raise _invalid(definition, value, "Use true or false.")
    if definition.type is PropertyType.INTEGER:
        low, high = definition.minimum, definition.maximum
        if _INTEGER_TEXT.fullmatch(value) is None or (bounded and not low <= int(value) <= high):
            raise _invalid(definition, value, f"Use an integer from {low} to {high}.")
    return value


def _invalid(definition: PropertyDefinition, value: str, hint: str) -> ConfigError:
    return ConfigError(
        f"Invalid value '{value}' for property '{definition.name}'",
        hint=hint,
        ksqldb=says("property-value", value=value, name=definition.name),
    )


def shown(name: str, value: str | None) -> str | None:
    return HIDDEN if value and PROPERTIES[name].secret else value


def secrets_of(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if shown(name, value) == HIDDEN}


def forget_credentials(changed: str, properties: dict[str, str], owned: Mapping[str, str]) -> None:
    """Removes the `owned` credentials if the URL of their system has changed; the user must supply
    new ones."""
    if properties is owned or properties.get(changed) == owned.get(changed):
        return
    for name in CONNECTIONS.get(changed, ()):
        if name in properties and properties[name] == owned.get(name):
            del properties[name]


def without_owned_secrets(
    properties: Mapping[str, str], owned: Mapping[str, str]
) -> dict[str, str]:
    """The properties without secrets that are equal in `owned`."""
    return {
        name: value
        for name, value in properties.items()
        if not (PROPERTIES[name].secret and owned.get(name) == value)
    }


def with_owned_secrets(properties: Mapping[str, str], owned: Mapping[str, str]) -> dict[str, str]:
    """The properties, completed by secrets of `owned` for the same systems."""
    found = dict(properties)
    for name in owned.keys() - found.keys():
        urls = [url for url, credentials in CONNECTIONS.items() if name in credentials]
        if PROPERTIES[name].secret and all(found.get(u) == owned.get(u) for u in urls):
            found[name] = owned[name]
    return found


# -- reading -------------------------------------------------------------------------------------


def accepted(properties: Mapping[str, str]) -> frozenset[str]:
    """Failures that a query tolerates, by the names of their properties."""
    names = processing.STOPPED_BY
    return frozenset(name for name in names if get_text(properties, name) == "continue")


def get_text(properties: Mapping[str, str], name: str) -> str | None:
    """The value, otherwise the default, otherwise None; an empty text counts as unset."""
    value = properties.get(name, PROPERTIES[name].default)
    return value or None


def standard(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a session that has the meaning of standard SQL."""
    return {**properties, SEMANTICS: "standard"}


def get_bool(properties: Mapping[str, str], name: str) -> bool | None:
    """A BOOLEAN property; None if it is unset without default."""
    value = get_text(properties, name)
    return None if value is None else value == "true"


def validated(properties: Mapping[str, str]) -> dict[str, str]:
    """The start properties of an engine by canonical name; ConfigError if invalid."""
    return dict(validate(name, value) for name, value in properties.items())


def get_int(properties: Mapping[str, str], name: str) -> int:
    """An INTEGER property with a default."""
    return int(get_text(properties, name) or 0)
