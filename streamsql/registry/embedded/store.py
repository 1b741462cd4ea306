"""The registry's state and its rules: subjects, versions, ids, levels and modes.

Every change goes to the journal first and only then into memory. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamsql.registry.canonical import canonical
from streamsql.registry.embedded.compatibility import problems
from streamsql.registry.records import (
    DEFAULT_LEVEL,
    DEFAULT_MODE,
    Reference,
    RegistryError,
    Schema,
    Version,
    references_from_json,
)

Entry = tuple[dict[str, Any], dict[str, Any] | None]
"""A record of the journal: key and value, in the form of Confluent's `_schemas` topic."""


@dataclass
class Subject:
    """The versions of one subject, ascending, deleted ones too."""

    versions: dict[int, Version] = field(default_factory=dict)

    def live(self, *, deleted: bool = False) -> list[Version]:
        """Its versions in order, with those softly deleted if `deleted`."""
        return [v for _, v in sorted(self.versions.items()) if deleted or not v.deleted]


class Store:
    """All schemas. `write` makes entries of the journal durable; without it they are forgotten."""

    def __init__(self, write: Callable[[list[Entry]], None] | None = None) -> None:
        self._write = write or (lambda entries: None)
        self._lock = threading.RLock()
        self._subjects: dict[str, Subject] = {}
        self._by_id: dict[int, Schema] = {}
        self._levels: dict[str | None, str] = {}
        self._modes: dict[str | None, str] = {}

    # -- journal ---------------------------------------------------------------------------------

    def load(self, entries: Iterable[Entry]) -> None:
        """Apply what the journal holds."""
        for key, value in entries:
            self._apply(key, value)

    def _change(self, *entries: Entry) -> None:
        self._write(list(entries))
        self.load(entries)

    def _apply(self, key: Mapping[str, Any], value: Mapping[str, Any] | None) -> None:
        subject = key.get("subject")
        match key.get("keytype"):
            case "SCHEMA":
                self._apply_schema(str(subject), int(key["version"]), value)
            case "CONFIG":
                _set(self._levels, subject, value, "compatibilityLevel")
            case "MODE":
                _set(self._modes, subject, value, "mode")

    def _apply_schema(self, name: str, number: int, value: Mapping[str, Any] | None) -> None:
        versions = self._subjects.setdefault(name, Subject()).versions
        if value is None:
            versions.pop(number, None)
            if not versions:
                del self._subjects[name]
            return
        schema = Schema(
            str(value.get("schemaType", "AVRO")),
            str(value["schema"]),
            references_from_json(value.get("references")),
        )
        deleted = bool(value.get("deleted", False))
        versions[number] = Version(name, number, int(value["id"]), schema, deleted)
        self._by_id[int(value["id"])] = schema

    # -- schemas ---------------------------------------------------------------------------------

    def register(
        self, name: str, given: Schema, *, id: int | None = None, version: int | None = None
    ) -> Version:
        """The schema under the subject, new or not; 409 where the subject's rule forbids it.

        `id` and `version` are for the mode IMPORT alone.
        """
        with self._lock:
            schema = self._canonical(given)
            importing = self.mode(name) == "IMPORT"
            if id is not None and not importing:
                raise RegistryError(42205, f"Subject {name} is not in import mode")
            known = self._find(name, schema)
            if known is not None and id in (None, known.id):
                return known
            if self.mode(name).startswith("READONLY"):
                raise RegistryError(42205, f"Subject {name} is in read-only mode")
            if not importing:
                self._check(name, schema)
            found = self._new_version(name, schema, id, version)
            self._change(_entry(found))
            return found

    def _new_version(
        self, name: str, schema: Schema, id: int | None, version: int | None
    ) -> Version:
        existing = self._subjects.get(name, Subject()).versions
        number = version or max(existing, default=0) + 1
        if id is None:
            known = [i for i, s in self._by_id.items() if s == schema]
            id = min(known) if known else max(self._by_id, default=0) + 1
        elif self._by_id.get(id, schema) != schema:
            raise RegistryError(42205, f"Overwrite new schema with id {id} is not permitted.")
        return Version(name, number, id, schema)

    def _check(self, name: str, schema: Schema) -> None:
        earlier = self._subjects.get(name, Subject()).live()
        found = problems(schema, earlier, self.level(name), self.texts)
        if found:
            raise RegistryError(
                409,
                f"Schema being registered is incompatible with an earlier schema for subject "
                f'"{name}", details: {found}',
            )

    def compatible(self, name: str, given: Schema, version: str | None) -> list[str]:
        """Why the schema is not compatible with one version (`latest`) or with all as the
        subject's rule says (None); empty where it is."""
        with self._lock:
            schema = self._canonical(given)
            level = self.level(name)
            if version is None:
                earlier = self._subjects.get(name, Subject()).live()
            else:
                earlier = [self.version(name, version)]
            return problems(schema, earlier, level, self.texts)

    def lookup(self, name: str, given: Schema, *, deleted: bool = False) -> Version:
        """The version of the subject with this schema; 404 if none."""
        with self._lock:
            self._subject(name, deleted=deleted)
            found = self._find(name, self._canonical(given), deleted=deleted)
            if found is None:
                raise RegistryError(40403, "Schema not found")
            return found

    def _find(self, name: str, schema: Schema, *, deleted: bool = False) -> Version | None:
        found = self._subjects.get(name, Subject()).live(deleted=deleted)
        return next((v for v in reversed(found) if v.schema == schema), None)

    def by_id(self, id: int) -> Schema:
        """The schema of an id; RegistryError 40403 if unknown."""
        with self._lock:
            found = self._by_id.get(id)
            if found is None:
                raise RegistryError(40403, f"Schema {id} not found")
            return found

    def uses(self, id: int, *, deleted: bool = False) -> list[Version]:
        """All versions of all subjects that have this id."""
        with self._lock:
            self.by_id(id)
            return [v for v in self.all_versions(deleted=deleted) if v.id == id]

    def all_versions(self, *, deleted: bool = False) -> list[Version]:
        """Of all subjects, in the order of their names."""
        with self._lock:
            subjects = [s for _, s in sorted(self._subjects.items())]
            return [v for s in subjects for v in s.live(deleted=deleted)]

    def _canonical(self, given: Schema) -> Schema:
        text = canonical(given.type, given.text, self.texts(given))
        return Schema(given.type, text, given.references)

    def texts(self, schema: Schema) -> dict[str, str]:
        """The texts of what a schema refers to, the innermost first."""
        found: dict[str, str] = {}
        for reference in schema.references:
            inner = self._referenced(reference)
            found.update({n: t for n, t in self.texts(inner).items() if n not in found})
            found.setdefault(reference.name, inner.text)
        return found

    def _referenced(self, reference: Reference) -> Schema:
        found = self._subjects.get(reference.subject, Subject()).versions.get(reference.version)
        if found is None:
            raise RegistryError(
                42201,
                f'No schema reference found for subject "{reference.subject}" and version '
                f"{reference.version}",
            )
        return found.schema

    def referenced_by(self, name: str, version: int) -> list[int]:
        """Ids of the schemas that refer to a version."""
        with self._lock:
            return sorted(
                {
                    v.id
                    for v in self.all_versions()
                    if any((r.subject, r.version) == (name, version) for r in v.schema.references)
                }
            )

    # -- subjects --------------------------------------------------------------------------------

    def subjects(self, *, deleted: bool = False, prefix: str = "") -> list[str]:
        """Sorted names with the prefix and at least one version."""
        with self._lock:
            return [
                name
                for name, subject in sorted(self._subjects.items())
                if name.startswith(prefix) and subject.live(deleted=deleted)
            ]

    def _subject(self, name: str, *, deleted: bool = False) -> Subject:
        found = self._subjects.get(name)
        if found is None or not found.live(deleted=deleted):
            raise RegistryError(40401, f"Subject '{name}' not found.")
        return found

    def versions(self, name: str, *, deleted: bool = False) -> list[int]:
        """Version numbers of a subject; RegistryError 40401 if it does not exist."""
        with self._lock:
            return [v.version for v in self._subject(name, deleted=deleted).live(deleted=deleted)]

    def version(self, name: str, version: str, *, deleted: bool = False) -> Version:
        """By number, or `latest`."""
        with self._lock:
            live = self._subject(name, deleted=deleted).live(deleted=deleted)
            if version in ("latest", "-1"):
                return live[-1]
            if not version.isdecimal() or int(version) < 1:
                raise RegistryError(
                    42202,
                    f"The specified version '{version}' is not a valid version id. Allowed values "
                    'are between [1, 2^31-1] and the string "latest"',
                )
            found = next((v for v in live if v.version == int(version)), None)
            if found is None:
                raise RegistryError(40402, f"Version {version} not found.")
            return found

    def delete(self, name: str, version: str | None, *, permanent: bool) -> list[int]:
        """The numbers of the versions deleted: one, or all of the subject."""
        with self._lock:
            if version is None:
                chosen = self._subject(name, deleted=permanent).live(deleted=permanent)
            else:
                chosen = [self.version(name, version, deleted=permanent)]
            for found in chosen:
                self._check_deletable(found, permanent, whole=version is None)
            if permanent:
                self._change(*((_key(v), None) for v in chosen))
            else:
                self._change(*(_entry(v.marked(deleted=True)) for v in chosen))
            return [v.version for v in chosen]

    def _check_deletable(self, found: Version, permanent: bool, *, whole: bool) -> None:
        if permanent and not found.deleted:
            what = f"Subject '{found.subject}'"
            if not whole:
                what += f" Version {found.version}"
            raise RegistryError(
                40405 if whole else 40407,
                f"{what} was not deleted first before being permanently deleted",
            )
        if self.referenced_by(found.subject, found.version):
            raise RegistryError(
                42206,
                f"One or more references exist to the schema "
                f"{{subject={found.subject},version={found.version}}}.",
            )

    # -- levels and modes ------------------------------------------------------------------------

    def level(self, name: str | None) -> str:
        """The compatibility level that holds for a subject, or the general one."""
        return self._levels.get(name) or self._levels.get(None, DEFAULT_LEVEL)

    def own_level(self, name: str) -> str | None:
        """The compatibility that was set for the subject itself."""
        return self._levels.get(name)

    def set_level(self, name: str | None, level: str | None) -> None:
        """Set a subject's compatibility, or with no name everyone's; None takes it away."""
        value = None if level is None else {"compatibilityLevel": level}
        with self._lock:
            self._change(({"keytype": "CONFIG", "subject": name, "magic": 0}, value))

    def mode(self, name: str | None) -> str:
        """The mode that counts for a subject, or with no name for all."""
        return self._modes.get(name) or self._modes.get(None, DEFAULT_MODE)

    def own_mode(self, name: str) -> str | None:
        """The mode that was set for the subject itself."""
        return self._modes.get(name)

    def set_mode(self, name: str | None, mode: str | None) -> None:
        """Set a subject's mode, or with no name everyone's; None takes it away."""
        value = None if mode is None else {"mode": mode}
        with self._lock:
            self._change(({"keytype": "MODE", "subject": name, "magic": 0}, value))


def _set(
    settings: dict[str | None, str], subject: str | None, value: Mapping[str, Any] | None, name: str
) -> None:
    if value is None:
        settings.pop(subject, None)
    else:
        settings[subject] = str(value[name])


def _key(found: Version) -> dict[str, Any]:
    return {
        "keytype": "SCHEMA",
        "subject": found.subject,
        "version": found.version,
        "magic": 1,
    }


def _entry(found: Version) -> Entry:
    return _key(found), {**found.to_json(), "deleted": found.deleted}
