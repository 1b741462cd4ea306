"""Records of the registry, and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
SCHEMA_TYPES = (JSON, PROTOBUF, AVRO)
LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
DEFAULT_LEVEL = "BACKWARD"
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
DEFAULT_MODE = "READWRITE"


class RegistryError(Exception):
    """An answer other than 200: the HTTP status is the code's first three digits."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        return int(str(self.code)[:3])


@dataclass(frozen=True)
class Reference:
    """Another schema that a schema uses, and the name it uses for it."""

    name: str
    subject: str
    version: int

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Reference:
        """Of a request's object; RegistryError 422 where something is missing."""
        try:
            return cls(str(given["name"]), str(given["subject"]), int(given["version"]))
        except (KeyError, TypeError, ValueError) as error:
            raise RegistryError(42201, f"invalid reference {given}") from error

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True)
class Schema:
    """A schema in canonical form; two that are equal have one id."""

    type: str
    text: str
    references: tuple[Reference, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As answers show it: the type AVRO and no references are left unsaid."""
        answer: dict[str, Any] = {"schema": self.text}
        if self.type != AVRO:
            answer["schemaType"] = self.type
        if self.references:
            answer["references"] = [r.to_json() for r in self.references]
        return answer


@dataclass(frozen=True)
class Version:
    """A schema under a subject; a deleted one is still known by its id."""

    subject: str
    version: int
    id: int
    schema: Schema
    deleted: bool = False

    def marked(self, *, deleted: bool) -> Version:
        return replace(self, deleted=deleted)

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            **self.schema.to_json(),
        }


def references_from_json(given: Sequence[Mapping[str, Any]] | None) -> tuple[Reference, ...]:
    """References of a request; empty for null."""
    return tuple(Reference.from_json(r) for r in given or ())
