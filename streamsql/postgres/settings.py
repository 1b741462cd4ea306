"""Configuration of a listener, and session settings."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from streamsql.errors import ConfigError
from streamsql.postgres.errors import NO_SUCH_SETTING, WRONG_SETTING, PgError
from streamsql.postgres.sql.commands import seconds_of
from streamsql.properties import IMPLICIT_FLUSH, POSTGRES_VERSION

VERSION = POSTGRES_VERSION
DEFAULT_PORT = 5433


@dataclass(frozen=True)
class PostgresConfig:
    """Address and bounds; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    max_connections: int = 1000
    max_message_bytes: int = 10 * 1024 * 1024
    max_statement_bytes: int = 1024 * 1024
    max_push_queries: int = 100
    """Push queries, cursors over them and COPYs of them, and results that wait for their clients,
    of all clients."""
    threads: int = 64
    """Concurrent statements, unless shared with other ports."""
    max_scans: int = 4
    """Concurrent scans, excluding key lookups and push queries."""
    buffer_rows: int = 1000
    """Rows of one result that may wait for its client."""
    login_seconds: float = 15.0

    def tls(self) -> ssl.SSLContext | None:
        """TLS context; None without a certificate."""
        if self.tls_cert is None or self.tls_key is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.tls_cert, self.tls_key)
            if self.tls_client_ca is not None:
                context.load_verify_locations(self.tls_client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"cannot use the certificate {self.tls_cert}: {error}") from None
        return context


def _one_of(*allowed: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value.lower().replace("-", "").replace("_", "") not in allowed:
            raise ValueError(f"only {', '.join(allowed)}")
        return value

    return check


def _encoding(value: str) -> str:
    _one_of("utf8", "unicode", "sqlascii")(value.strip("'"))
    return "UTF8"


def _date_style(value: str) -> str:
    if "iso" not in value.lower():
        raise ValueError("only the ISO date style is supported")
    return "ISO, MDY"


def _zone(value: str) -> str:
    found = _zones().get(value.lower())
    if found is None:
        raise ValueError(f"unknown time zone {value}")
    return found


@cache
def _zones() -> dict[str, str]:
    """The names of time zones by their lower case: the files of a folder, read once."""
    return {name.lower(): name for name in available_timezones()}


def _timeout(value: str) -> str:
    seconds = seconds_of(value)
    return f"{seconds * 1000:.0f}ms" if seconds else "0"


def _any(value: str) -> str:
    return value


_CHECKS: dict[str, tuple[str, Callable[[str], str]]] = {
    "application_name": ("", _any),
    "bytea_output": ("hex", _one_of("hex")),
    "client_encoding": ("UTF8", _encoding),
    "client_min_messages": ("notice", _any),
    "datestyle": ("ISO, MDY", _date_style),
    "default_table_access_method": ("heap", _any),
    "default_transaction_isolation": ("read committed", _any),
    "default_transaction_read_only": ("off", _any),
    "extra_float_digits": ("1", _any),
    "geqo": ("on", _any),
    "idle_in_transaction_session_timeout": ("0", _any),
    "integer_datetimes": ("on", _one_of("on")),
    "intervalstyle": ("postgres", _any),
    "jit": ("off", _any),
    "lock_timeout": ("0", _timeout),
    "max_identifier_length": ("128", _one_of("128")),
    "max_index_keys": ("32", _one_of("32")),
    "search_path": ("public", _any),
    "server_encoding": ("UTF8", _one_of("utf8")),
    "server_version": (VERSION, _one_of(VERSION)),
    "server_version_num": ("150000", _one_of("150000")),
    "standard_conforming_strings": ("on", _one_of("on")),
    "statement_timeout": ("0", _timeout),
    "row_security": ("on", _any),
    "synchronous_commit": ("on", _any),
    "timezone": ("UTC", _zone),
    "transaction_isolation": ("read committed", _any),
    "transaction_read_only": ("off", _any),
}
"""Default and check of each, by names in lower case. Many are accepted without effect."""
NAMES = frozenset(_CHECKS)
ALIASES = {"rw_implicit_flush": IMPLICIT_FLUSH, "implicit_flush": IMPLICIT_FLUSH}
"""Settings of other stream engines that mean the same as a property."""
_ELSEWHERE = ("rw_", "streaming_", "batch_", "query_", "background_", "visibility_", "sink_")
"""The prefixes of settings of other stream engines."""


def is_of_another_engine(name: str) -> bool:
    """Whether a setting is accepted, with a notice, without effect."""
    return name not in _CHECKS and name.startswith(_ELSEWHERE)


_REPORTED = {
    "application_name": "application_name",
    "client_encoding": "client_encoding",
    "datestyle": "DateStyle",
    "integer_datetimes": "integer_datetimes",
    "intervalstyle": "IntervalStyle",
    "server_encoding": "server_encoding",
    "server_version": "server_version",
    "standard_conforming_strings": "standard_conforming_strings",
    "timezone": "TimeZone",
}
"""Settings reported to clients, in the protocol's spelling."""


@dataclass
class Settings:
    """The settings of a session; `at_start` are those of the client's first message."""

    at_start: dict[str, str] = field(default_factory=dict)
    database: str = ""
    """The client's name for the only database."""
    _values: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """The value of a setting; PgError for an unknown one."""
        if name not in _CHECKS and "." not in name:
            raise PgError(NO_SUCH_SETTING, f'unrecognized configuration parameter "{name}"')
        default = _CHECKS.get(name, ("", _any))[0]
        return self._values.get(name, self.at_start.get(name, default))

    def set(self, name: str, value: str | None) -> None:
        """Sets a setting, None for its default; names with a dot are unrestricted."""
        self.get(name)
        if value is None:
            self._values.pop(name, None)
            return
        try:
            self._values[name] = _CHECKS.get(name, ("", _any))[1](value)
        except ValueError as error:
            raise PgError(
                WRONG_SETTING,
                f'invalid value for parameter "{name}": "{value}"',
                detail=f"{error}.",
            ) from None

    def begin(self, name: str, value: str) -> None:
        """Initial settings of a connection."""
        self.set(name, value)
        self.at_start[name] = self._values.pop(name)

    @staticmethod
    def shown(name: str) -> str:
        """A setting's name as PostgreSQL spells it."""
        return _REPORTED.get(name, name)

    def reset(self) -> None:
        """Resets all to the values of the client's first message."""
        self._values.clear()

    def reported(self) -> dict[str, str]:
        return {shown: self.get(name) for name, shown in _REPORTED.items()}

    @property
    def timeout(self) -> float | None:
        """Seconds that a statement may take; None: unlimited."""
        return seconds_of(self.get("statement_timeout")) or None

    @property
    def zone(self) -> tzinfo | None:
        """The zone of timestamps as text; None for UTC."""
        name = self.get("timezone")
        return None if name.upper() in ("UTC", "GMT", "ETC/UTC") else ZoneInfo(name)
