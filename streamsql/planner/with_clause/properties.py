"""The WITH (..) clause: the properties of each statement and their values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from streamsql.errors import ConfigError, Span, did_you_mean
from streamsql.formats.changes import OPTIONS
from streamsql.formats.options import FULL_NAME, NULLABLE, SCHEMA_ID, WITH_NAMES
from streamsql.ksqldb import says
from streamsql.nodes import Duration, Properties, Property
from streamsql.schema import KeyWindow, WindowType


class Place(Enum):
    """The kind of statement of a WITH clause."""

    CREATE = "CREATE"
    CREATE_AS = "CREATE AS SELECT"
    VIEW = "CREATE MATERIALIZED VIEW"
    INSERT = "INSERT INTO"
    SINK = "CREATE SINK"
    LOOKUP = "CREATE SOURCE TABLE"
    CAPTURE = "CREATE STREAM | TABLE"
    DATABASE = "CREATE SOURCE"
    FROM_DATABASE = "CREATE STREAM | TABLE FROM SOURCE"


_FORMATS = ("KEY_FORMAT", "VALUE_FORMAT", "FORMAT", "KEY_DELIMITER", "VALUE_DELIMITER")
_COMMON = (
    "KAFKA_TOPIC",
    *_FORMATS,
    "PARTITIONS",
    "REPLICAS",
    "RETENTION_MS",
    "TIMESTAMP",
    "TIMESTAMP_FORMAT",
    "WRAP_SINGLE_VALUE",
    *(f"{side}_{name}" for side in ("KEY", "VALUE") for name in WITH_NAMES.values()),
    "VALUE_AVRO_SCHEMA_FULL_NAME",
)
_OF_ROWS = ("RETENTION_MS", "TIMESTAMP", "TIMESTAMP_FORMAT")
"""What the rows of a view, which are those of its query at each moment, do not have."""
_OF_TOPIC = ("KAFKA_TOPIC", "PARTITIONS", "REPLICAS")
_TAKEN = {
    Place.CREATE: (
        *_COMMON,
        "WINDOW_TYPE",
        "WINDOW_SIZE",
        *OPTIONS,
        "SOURCED_BY_CONNECTOR",
        "SOURCE_CONNECTOR",
    ),
    Place.CREATE_AS: (*_COMMON, "STATE_TTL"),
    Place.VIEW: tuple(name for name in _COMMON if name not in _OF_ROWS),
    Place.INSERT: ("QUERY_ID", "STATE_TTL"),
    Place.SINK: (
        "CONNECTION",
        "PATH",
        "FORMAT",
        "PARTITION_BY",
        "URL",
        "TABLE",
        "MODE",
        "USER",
        "PASSWORD",
        "BATCH_ROWS",
        "CATALOG",
        "WAREHOUSE",
        "SNAPSHOT_RETENTION",
        "COLUMNS",
        "DROP_COLUMNS",
        "KEEP_COLUMNS",
        "PART_OF",
        "COMMIT_INTERVAL",
    ),
    Place.LOOKUP: (
        "CONNECTION",
        "PATH",
        "FORMAT",
        "URL",
        "DBTABLE",
        "USER",
        "PASSWORD",
        "CACHE_TTL",
        "CACHE_ROWS",
        "MAX_LOOKUPS_PER_SECOND",
        "CATALOG",
        "WAREHOUSE",
        "TABLE",
    ),
    Place.CAPTURE: (
        "CONNECTION",
        "URL",
        "TABLE",
        "USER",
        "PASSWORD",
        *_OF_TOPIC,
    ),
    Place.DATABASE: ("CONNECTION", "URL", "USER", "PASSWORD"),
    Place.FROM_DATABASE: _OF_TOPIC,
}
_LEGACY_NAME = "VALUE_AVRO_SCHEMA_FULL_NAME"

_DELIMITERS = {"SPACE": " ", "TAB": "\t"}


@dataclass(frozen=True)
class WithProperties:
    """The clause's values; None for missing ones."""

    place: Place
    texts: dict[str, str] = field(default_factory=dict)
    spans: dict[str, Span | None] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """The property's value as text, or None."""
        return self.texts.get(name)

    def span(self, name: str) -> Span | None:
        """The position of the property, or None."""
        return self.spans.get(name)

    @property
    def kafka_topic(self) -> str | None:
        return self.texts.get("KAFKA_TOPIC")

    @property
    def partitions(self) -> int | None:
        """PARTITIONS, or None; ConfigError below 1."""
        return self.integer("PARTITIONS", minimum=1)

    @property
    def replicas(self) -> int | None:
        """REPLICAS, or None; ConfigError below -1, which is the broker's default."""
        return self.integer("REPLICAS", minimum=-1)

    @property
    def retention_ms(self) -> int | None:
        """RETENTION_MS in milliseconds, or None; ConfigError below -1, which is unlimited."""
        return self.integer("RETENTION_MS", minimum=-1)

    @property
    def wrap(self) -> bool | None:
        """WRAP_SINGLE_VALUE, or None; ConfigError unless `true` or `false`."""
        value = self.texts.get("WRAP_SINGLE_VALUE")
        if value is None:
            return None
        if value.lower() not in ("true", "false"):
            raise self.invalid("WRAP_SINGLE_VALUE", f"'{value}' is not true or false")
        return value.lower() == "true"

    def format_name(self, side: str) -> str | None:
        """KEY_FORMAT or VALUE_FORMAT, or FORMAT for both."""
        return self.texts.get(f"{side}_FORMAT") or self.texts.get("FORMAT")

    def delimiter(self, side: str) -> str | None:
        name = f"{side}_DELIMITER"
        value = self.texts.get(name)
        if value is None:
            return None
        if not value.strip():
            raise self.invalid(
                name,
                "Delimiter cannot be empty, if you meant to have a tab or space for delimiter, "
                "please use the special values 'TAB' or 'SPACE'",
                example=";",
            )
        delimiter = _DELIMITERS.get(value.upper(), value)
        if len(delimiter) != 1:
            raise self.invalid(
                name,
                f"Invalid delimiter value: '{value}'. "
                "Delimiter must be a single character or TAB,SPACE",
                example=";",
            )
        return delimiter

    def schema_id(self, side: str) -> int | None:
        return self.integer(self.schema_property(side, SCHEMA_ID), minimum=1)

    def schema_property(self, side: str, option: str) -> str:
        """The property's name for an option of formats with schemas."""
        name = f"{side}_{WITH_NAMES[option]}"
        legacy = side == "VALUE" and option == FULL_NAME and _LEGACY_NAME in self.texts
        return _LEGACY_NAME if legacy and name not in self.texts else name

    def schema_options(self, side: str) -> dict[str, str]:
        """The options in the clause for formats with schemas, by name."""
        given = {}
        for option in WITH_NAMES:
            value = self.texts.get(self.schema_property(side, option))
            if value is not None:
                given[option] = value.strip()
        self.schema_id(side)
        nullable = given.get(NULLABLE)
        if nullable is not None:
            given[NULLABLE] = nullable.upper()
            if given[NULLABLE] not in ("OPTIONAL", "WRAPPER"):
                raise self.invalid(
                    self.schema_property(side, NULLABLE),
                    f"'{nullable}' is not one of OPTIONAL, WRAPPER",
                )
        return given

    @property
    def timestamp(self) -> str | None:
        """The TIMESTAMP column's name: in upper case unless it is quoted."""
        value = self.texts.get("TIMESTAMP")
        if value is None:
            return None
        if len(value) > 2 and value[0] == value[-1] and value[0] in '`"':
            return value[1:-1].replace(value[0] * 2, value[0])
        return value.upper()

    @property
    def window(self) -> KeyWindow | None:
        """The window of the key that WINDOW_TYPE and WINDOW_SIZE declare."""
        text, size = self.texts.get("WINDOW_TYPE"), self.texts.get("WINDOW_SIZE")
        if text is None:
            if size is not None:
                raise self.invalid("WINDOW_SIZE", "it is only valid together with WINDOW_TYPE")
            return None
        names = [t.value for t in WindowType]
        if text.upper() not in names:
            raise self.invalid("WINDOW_TYPE", f"'{text}' is not one of {', '.join(names)}")
        window = WindowType(text.upper())
        if KeyWindow(window).has_end:
            if size is not None:
                raise self.invalid(
                    "WINDOW_SIZE", f"'WINDOW_SIZE' should not be set for {window.value} windows"
                )
            return KeyWindow(window)
        if size is None:
            raise _refused(
                f"{window.value} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
                "For example: 'WINDOW_SIZE'='10 SECONDS'",
                span=self.span("WINDOW_TYPE"),
            )
        return KeyWindow(window, self.duration("WINDOW_SIZE", size).ms)

    def integer(self, name: str, *, minimum: int) -> int | None:
        """The property's value as an integer, or None; ConfigError below the minimum, or for
        another text."""
        value = self.texts.get(name)
        if value is None:
            return None
        digits = value.removeprefix("-")
        if not digits.isdecimal() or int(value) < minimum:
            raise self.invalid(name, f"'{value}' is not an integer of {minimum} or more")
        return int(value)

    def invalid(self, name: str, why: str, example: str | None = None) -> ConfigError:
        """The error for a property's value: the reason, and a valid example."""
        shown = f"\nExample valid value: '{example}'" if example else ""
        return _refused(f"Configuration {name} is invalid: {why}{shown}", span=self.span(name))

    def duration(self, name: str, text: str) -> Duration:
        """The property's text as an amount and a unit; ConfigError if invalid."""
        parts = text.split()
        unit = parts[1].upper().removesuffix("S") if len(parts) == 2 else ""
        if len(parts) == 2 and parts[0].isdecimal() and unit in Duration.UNITS_MS:
            return Duration(int(parts[0]), unit)
        raise self.invalid(
            name,
            f"Invalid duration: '{text}'. Give an amount and a unit",
            example="10 SECONDS",
        )


def _refused(message: str, *, span: Span | None, hint: str | None = None) -> ConfigError:
    return ConfigError(message, hint=hint, span=span, ksqldb=says("cannot-prepare", reason=message))


def read_properties(properties: Properties, place: Place) -> WithProperties:
    """The clause, with all names checked; ConfigError for unknown properties."""
    texts: dict[str, str] = {}
    spans: dict[str, Span | None] = {}
    for entry in properties:
        _check_name(entry, place)
        if entry.name in texts:
            raise _refused(f"duplicate property {entry.name} in WITH", span=entry.span)
        texts[entry.name] = _text(entry.value)
        spans[entry.name] = entry.span
    result = WithProperties(place, texts, spans)
    _check_combinations(result)
    return result


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def names_taken(place: Place) -> tuple[str, ...]:
    return _TAKEN[place]


def _check_name(entry: Property, place: Place) -> None:
    taken = names_taken(place)
    if entry.name in taken:
        return
    raise _refused(
        f"Invalid config variable(s) in the WITH clause: {entry.name}",
        hint=did_you_mean(entry.name, taken) or f"It may hold {', '.join(taken)}.",
        span=entry.span,
    )


def _check_combinations(properties: WithProperties) -> None:
    for side in ("KEY", "VALUE"):
        name = f"{side}_FORMAT"
        if properties.text("FORMAT") and properties.text(name):
            raise _refused(
                f"Cannot supply both '{name}' and 'FORMAT' properties, as 'FORMAT' sets both key "
                "and value formats. Either use just 'FORMAT', or use 'KEY_FORMAT' and "
                "'VALUE_FORMAT'.",
                span=properties.span("FORMAT"),
            )
    if properties.text("VALUE_SCHEMA_FULL_NAME") and properties.text(_LEGACY_NAME):
        raise _refused(
            f"Cannot supply both '{_LEGACY_NAME}' and 'VALUE_SCHEMA_FULL_NAME' properties. "
            "Please only set 'VALUE_SCHEMA_FULL_NAME'.",
            span=properties.span(_LEGACY_NAME),
        )
    if properties.text("TIMESTAMP_FORMAT") and not properties.text("TIMESTAMP"):
        raise _refused(
            "TIMESTAMP_FORMAT needs the property TIMESTAMP",
            hint="Name the text column that holds the time: TIMESTAMP='MY_COLUMN'.",
            span=properties.span("TIMESTAMP_FORMAT"),
        )
    if properties.text("KAFKA_TOPIC") == "":
        raise properties.invalid("KAFKA_TOPIC", "the name of a topic cannot be empty")
