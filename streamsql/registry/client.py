"""The engine's schema registry client over Confluent's client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from weakref import finalize

from streamsql.errors import ConfigError, ExternalError, PlanError
from streamsql.formats.registered import SchemaText
from streamsql.properties.schema_registry import BEARER_SOURCE, CA, CERTIFICATE, USER
from streamsql.registry.connection import Connection

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError

_NAME = "the schema registry"
TIMEOUT_SECONDS = 15.0
_RETRIES = {"max.retries": 2, "retries.wait.ms": 100}
_CLIENTS = 8
"""Maximum number of cached connections; further ones are closed after use."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class RegistryClient:
    """One registry. Methods raise ExternalError where it does not answer or refuses, and
    ConfigError where the properties of the connection do not hold."""

    connection: Connection

    @classmethod
    def at(cls, url: str) -> RegistryClient:
        return cls(Connection.at(url))

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RegistryClient | None:
        """The registry that the properties name, if any; ConfigError where they do not hold."""
        connection = Connection.of(properties)
        return None if connection is None else cls(connection)

    @property
    def url(self) -> str:
        return self.connection.url

    def latest(self, subject: str) -> SchemaText | None:
        """The newest schema of a subject, or None."""
        found = self._find(f"read {subject}", lambda client: client.get_version(subject))
        return None if found is None else self._text(found.schema, found.schema_id)

    def by_id(self, id: int) -> SchemaText | None:
        """The schema of an id, or None; ExternalError where the registry does not answer."""
        found = self._find(f"read the schema {id}", lambda client: client.get_schema(id))
        return None if found is None else self._text(found, id)

    def subjects(self) -> list[str]:
        return self._find("list the subjects", lambda client: client.get_subjects()) or []

    def exists(self, subject: str) -> bool:
        found = self._find(f"read {subject}", lambda client: client.get_versions(subject))
        return found is not None

    def has(self, subject: str | None, id: int | None) -> bool:
        """Whether there is a schema of that id, of that subject, or of both."""
        if id is None:
            return subject is not None and self.exists(subject)
        if subject is None:
            return self.by_id(id) is not None
        uses = self._find(f"read the schema {id}", lambda client: client.get_schema_versions(id))
        return any(use.subject == subject for use in uses or ())

    def register(self, subject: str, schema_type: str, text: str) -> int:
        """The id of the schema, new or not; PlanError where the subject's rule forbids it."""
        from confluent_kafka.schema_registry import Schema, SchemaRegistryError

        schema = Schema(text, schema_type)
        try:
            return self._ask(lambda client: client.register_schema(subject, schema))
        except SchemaRegistryError as error:
            if error.http_status_code == 409:
                raise PlanError(
                    f"Could not register schema for subject {subject}: it is incompatible with "
                    "an earlier schema",
                    detail=error.error_message,
                    hint="Change the query's columns, or the subject's compatibility level.",
                ) from error
            raise self._refused(f"register a schema under {subject}", error) from error

    def delete(self, subject: str) -> None:
        """Delete the subject for good; one that is not there is left."""
        action = f"delete {subject}"
        self._find(action, lambda client: client.delete_subject(subject))
        self._find(action, lambda client: client.delete_subject(subject, permanent=True))

    def _text(self, schema: Schema, id: int | None) -> SchemaText:
        references: dict[str, str] = {}
        self._collect(schema, references)
        kind = str(schema.schema_type or "AVRO")
        return SchemaText(kind, str(schema.schema_str), references, id)

    def _collect(self, schema: Schema, references: dict[str, str]) -> None:
        """The texts of what a schema refers to, the innermost first."""
        for reference in schema.references or ():
            name, subject, version = str(reference.name), reference.subject, reference.version
            if name in references or subject is None or version is None:
                continue
            found = self._version(subject, version)
            if found is None:
                raise ExternalError(f"the schema registry lacks the reference {name}")
            self._collect(found, references)
            references[name] = str(found.schema_str)

    def _version(self, subject: str, version: int) -> Schema | None:
        found = self._find(
            f"read {subject}", lambda client: client.get_version(subject, version, deleted=True)
        )
        return None if found is None else found.schema

    def _find(self, action: str, ask: Callable[[SchemaRegistryClient], _T]) -> _T | None:
        """The response; None if not found."""
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            return self._ask(ask)
        except SchemaRegistryError as error:
            if error.http_status_code == 404:
                return None
            raise self._refused(action, error) from error

    def _ask(self, ask: Callable[[SchemaRegistryClient], _T]) -> _T:
        """The answer; SchemaRegistryError where it is a refusal."""
        import httpx2
        from confluent_kafka.schema_registry.error import OAuthTokenError

        opened = _opened(self.connection)
        # It would know a subject that others have deleted meanwhile, or another registry's ids.
        opened.client.clear_caches()
        try:
            return ask(opened.client)
        except httpx2.TransportError as error:
            raise self._no_answer(error) from error
        except OAuthTokenError as error:
            raise ExternalError(
                f"no token for {_NAME} from {self.connection.issuer}",
                retryable=True,
                detail=error.message,
            ) from error
        except ValueError as error:
            raise ExternalError(
                f"{self.url} is not a schema registry", detail=str(error)
            ) from error

    def _no_answer(self, error: Exception) -> ExternalError:
        detail = str(error) or type(error).__name__
        hint = None
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            hint = f"{CA} names the authorities to trust."
        elif "CERTIFICATE_REQUIRED" in detail.upper().replace(" ", "_"):
            hint = f"Set {CERTIFICATE}."
        return ExternalError(
            f"no answer from {_NAME} at {self.url}", retryable=True, detail=detail, hint=hint
        )

    def _refused(self, action: str, error: SchemaRegistryError) -> ExternalError:
        status = error.http_status_code
        return ExternalError(
            f"cannot {action}: {_NAME} answered {status}",
            retryable=status >= 500,
            detail=error.error_message or None,
            hint=f"Set {USER} or {BEARER_SOURCE}." if status == 401 else None,
        )


class _Opened:
    """Confluent's client, closed when it is no longer referenced."""

    def __init__(self, connection: Connection) -> None:
        from confluent_kafka.schema_registry import SchemaRegistryClient

        settings = connection.for_confluent()
        try:
            self.client = SchemaRegistryClient({**settings, **_RETRIES, "timeout": TIMEOUT_SECONDS})
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the settings of the connection to {_NAME} do not hold", detail=str(error)
            ) from error
        finalize(self, self.client.close)


@lru_cache(maxsize=_CLIENTS)
def _opened(connection: Connection) -> _Opened:
    """Kept, since reading authorities and asking for tokens take their time."""
    return _Opened(connection)
