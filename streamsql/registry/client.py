"""What the engine asks of a schema registry, its own or the user's, by HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamsql.connectors.http import RestService, check_service_url, quoted
from streamsql.errors import ExternalError, PlanError
from streamsql.formats.registered import SchemaText

_NAME = "the schema registry"
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True)
class RegistryClient:
    """One registry. Methods raise ExternalError where it does not answer or refuses."""

    url: str
    user: str | None = None
    """`name:password` for basic authentication."""

    def latest(self, subject: str) -> SchemaText | None:
        """The newest schema of a subject, None where there is none."""
        found = self._get(f"/subjects/{quoted(subject)}/versions/latest")
        return None if found is None else self._schema(found)

    def by_id(self, id: int) -> SchemaText | None:
        found = self._get(f"/schemas/ids/{id}")
        return None if found is None else self._schema({**found, "id": id})

    def subjects(self) -> list[str]:
        return [str(name) for name in self._get("/subjects") or ()]

    def exists(self, subject: str) -> bool:
        return self._get(f"/subjects/{quoted(subject)}/versions") is not None

    def has(self, subject: str | None, id: int | None) -> bool:
        """Whether there is a schema of that id, of that subject, or of both."""
        if id is None:
            return subject is not None and self.exists(subject)
        if subject is None:
            return self.by_id(id) is not None
        uses = self._get(f"/schemas/ids/{id}/versions") or ()
        return any(use["subject"] == subject for use in uses)

    def register(self, subject: str, schema_type: str, text: str) -> int:
        """The id of the schema, new or not; PlanError where the subject's rule forbids it."""
        body = {"schema": text, "schemaType": schema_type}
        path = f"/subjects/{quoted(subject)}/versions"
        status, answer = self._request("POST", path, body)
        if status == 409:
            raise PlanError(
                f"Could not register schema for subject {subject}: it is incompatible with an "
                "earlier schema",
                detail=str(answer.get("message")),
                hint="Change the query's columns, or the subject's compatibility level.",
            )
        if status != 200:
            raise self._refused(f"register a schema under {subject}", status, answer)
        return int(answer["id"])

    def delete(self, subject: str) -> None:
        """Delete the subject for good; one that is not there is left."""
        path = f"/subjects/{quoted(subject)}"
        for query in ("", "?permanent=true"):
            status, answer = self._request("DELETE", path + query, None)
            if status not in (200, 404):
                raise self._refused(f"delete {subject}", status, answer)

    def _schema(self, found: Mapping[str, Any]) -> SchemaText:
        references: dict[str, str] = {}
        self._collect(found, references)
        return SchemaText(
            str(found.get("schemaType") or "AVRO"),
            str(found["schema"]),
            references,
            int(found["id"]),
        )

    def _collect(self, schema: Mapping[str, Any], references: dict[str, str]) -> None:
        """The texts of what a schema refers to, the innermost first."""
        for reference in schema.get("references") or ():
            name = str(reference["name"])
            if name in references:
                continue
            subject, version = quoted(str(reference["subject"])), reference["version"]
            found = self._get(f"/subjects/{subject}/versions/{version}?deleted=true")
            if found is None:
                raise ExternalError(f"the schema registry lacks the reference {name}")
            self._collect(found, references)
            references[name] = str(found["schema"])

    def _get(self, path: str) -> Any:
        status, answer = self._request("GET", path, None)
        if status == 404:
            return None
        if status != 200:
            raise self._refused(f"read {path}", status, answer)
        return answer

    def _refused(self, action: str, status: int, answer: Mapping[str, Any]) -> ExternalError:
        message = answer.get("message") if isinstance(answer, dict) else None
        return ExternalError(
            f"cannot {action}: {_NAME} answered {status}",
            retryable=status >= 500,
            detail=str(message) if message else None,
            hint="Set ksql.schema.registry.basic.auth.user.info." if status == 401 else None,
        )

    def _request(self, method: str, path: str, body: object) -> tuple[int, Any]:
        service = RestService(_NAME, self.url, self.user, _MEDIA_TYPE)
        return service.request(method, path, body)


def check_url(url: str) -> str:
    """The URL; ConfigError where it is not one."""
    return check_service_url(url, "a schema registry")
