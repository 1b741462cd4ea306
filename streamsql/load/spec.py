"""Options, records and report of a load: plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamsql.errors import ConfigError, ExternalError

STDIN = "-"
INPUT_FORMATS = ("csv", "json", "parquet", "text")
KEY_TYPES = ("STRING", "INT", "BIGINT", "DOUBLE")


@dataclass(frozen=True)
class KeyColumn:
    """A key column; `type` matters to the KAFKA format, whose numbers are binary."""

    name: str
    type: str = "STRING"

    @classmethod
    def parse(cls, text: str) -> KeyColumn:
        """`id` or `id:BIGINT`; ConfigError for another type."""
        name, _, kind = text.strip().partition(":")
        kind = kind.upper().replace("INTEGER", "INT") or "STRING"
        if not name or kind not in KEY_TYPES:
            raise ConfigError(
                f"key column {text!r} is not a column or column:TYPE",
                hint=f"Types of keys: {', '.join(KEY_TYPES)}.",
            )
        return cls(name, kind)


@dataclass(frozen=True)
class LoadSpec:
    """One load: from where, into which topic, and how its records are made."""

    source: str
    topic: str
    input_format: str | None = None
    key: tuple[KeyColumn, ...] = ()
    key_format: str | None = None
    timestamp: str | None = None
    timestamp_format: str | None = None
    """A java.time pattern, as in WITH (TIMESTAMP_FORMAT=..); None: ISO text or epoch ms."""
    format: str = "JSON"
    partitions: int | None = None
    rate: int | None = None
    limit: int | None = None

    @property
    def name(self) -> str:
        return "standard input" if self.source == STDIN else self.source

    def resolved_input_format(self) -> str:
        """The given input format, otherwise that of the file name; ConfigError if unknown."""
        if self.input_format:
            return self.input_format
        suffixes = [s.lower() for s in Path(self.source).suffixes]
        if suffixes and suffixes[-1] in (".gz", ".zip"):
            suffixes.pop()
        known = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
        known |= {".parquet": "parquet", ".txt": "text", ".log": "text"}
        if suffixes and suffixes[-1] in known:
            return known[suffixes[-1]]
        raise ConfigError(
            f"the format of {self.name} is not known",
            hint=f"Set it with --input-format {'|'.join(INPUT_FORMATS)}.",
        )

    def check_readable(self) -> None:
        """ExternalError for a file that is not there, before anything is started for it."""
        if self.source == STDIN:
            return
        try:
            open(self.source, "rb").close()
        except OSError as error:
            raise unreadable(self.name, error.strerror) from error

    def resolved_key_format(self) -> str:
        """The chosen key format; else KAFKA for one column and JSON for several."""
        return self.key_format or ("KAFKA" if len(self.key) <= 1 else "JSON")


@dataclass(frozen=True)
class Chunk:
    """Records ready to be produced; `timestamps` in ms since the epoch, None where not set."""

    values: Sequence[bytes]
    keys: Sequence[bytes | None] | None = None
    timestamps: Sequence[int] | None = None
    skipped: int = 0
    """Rows that were left out because they have no timestamp."""
    position: int = 0
    """Bytes of the input read when this chunk was made."""


@dataclass
class Columns:
    """The columns found in the input with their SQL types, as far as they have shown."""

    types: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """How far a load is; `fraction` of the input, None where its size is not known."""

    records: int
    fraction: float | None


@dataclass(frozen=True)
class Summary:
    """Result of a load; `columns` maps names to SQL types."""

    records: int
    skipped: int
    seconds: float
    created_topic: bool
    columns: dict[str, str]


ProgressCallback = Callable[[Progress], None]


def unreadable(name: str, why: object, hint: str | None = None) -> ExternalError:
    """The error for input that cannot be read."""
    return ExternalError(f"cannot read {name}: {why}", hint=hint)
