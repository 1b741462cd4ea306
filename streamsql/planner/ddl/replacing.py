"""CREATE over an existing name: when it is rejected, and what CREATE OR REPLACE may change."""

from __future__ import annotations

from collections.abc import Collection

from streamsql.catalog import Source
from streamsql.errors import CatalogError, ConfigError, PlanError
from streamsql.ksqldb import Sentence, says
from streamsql.nodes import CreateAsSelect, CreateSource
from streamsql.planner.changes.columns import upgrade
from streamsql.properties import CREATE_OR_REPLACE
from streamsql.schema import Column
from streamsql.types import quote


def check_name_is_free(
    existing: Source | None, statement: CreateSource | CreateAsSelect, replacing_enabled: bool
) -> None:
    """CatalogError if the name is taken and must not be replaced."""
    kind = statement.kind.value.lower()
    if statement.or_replace and not replacing_enabled:
        raise ConfigError(
            f"Cannot CREATE OR REPLACE: it is switched off by '{CREATE_OR_REPLACE}'",
            span=statement.span,
        )
    read_only = isinstance(statement, CreateSource) and statement.is_source
    if statement.or_replace and (read_only or (existing is not None and existing.is_source)):
        raise CatalogError(
            f"Cannot add {kind} '{statement.name}': "
            f"CREATE OR REPLACE is not supported on source {kind}s.",
            hint=f"DROP {statement.kind.value} {statement.name} first.",
            span=statement.span,
        )
    if existing is None:
        return
    if not statement.or_replace or existing.kind is not statement.kind:
        there = existing.kind.value
        raise CatalogError(
            f"Cannot add {kind} '{statement.name}': "
            f"A {there.lower()} with the same name already exists",
            hint=f"Use another name, or DROP {there} {statement.name} first.",
            span=statement.span,
        )


_CHANGED = "The following columns are changed, missing or reordered"


def check_upgrade(old: Source, new: Source, users: Collection[str]) -> None:
    """Raises PlanError if a replacement is incompatible with existing records, or changes a column
    of `users`: see `users_of`."""
    title = f"Cannot upgrade data source {old.name}"
    if old.topic.name != new.topic.name:
        raise PlanError(
            f"{title}: its topic is '{old.topic.name}', the new one's is '{new.topic.name}'"
        )
    for side, before, after in (
        ("key", old.topic.key_format, new.topic.key_format),
        ("value", old.topic.value_format, new.topic.value_format),
    ):
        if before != after:
            raise PlanError(
                f"{title}: its {side} format is {before.name}, the new one's is {after.name}"
            )
    if old.topic.window != new.topic.window:
        raise PlanError(f"{title}: the windows of the keys differ")
    changed = changed_columns(old.schema.columns, new.schema.columns)
    if old.schema.key != new.schema.key:
        changed = [c for c in old.schema.key if c not in new.schema.key] or list(old.schema.key)
        reason = f"Key columns must be identical. {_CHANGED}: {_listed(changed)}"
        raise PlanError(f"{title}: {reason}", ksqldb=_replaced(old, new, reason))
    if changed and (users or upgrade(old, new) is None):
        reason = f"{_CHANGED}: {_listed(changed)}"
        raise PlanError(
            f"{title}: {reason}",
            hint="Keep the columns as they are; new ones may be added at the end. Where nothing "
            "uses the source, columns may be dropped and widened as far as the format allows.",
            ksqldb=_replaced(old, new, reason),
        )


def _replaced(old: Source, new: Source, reason: str) -> Sentence:
    before, after = (", ".join(map(str, source.schema.columns)) for source in (old, new))
    return says("replaced-schema", name=quote(old.name), old=before, new=after, reason=reason)


def changed_columns(old: tuple[Column, ...], new: tuple[Column, ...]) -> list[Column]:
    """The old columns that are missing or at another position in the new ones."""
    return [c for i, c in enumerate(old) if i >= len(new) or new[i] != c]


def _listed(columns: list[Column]) -> str:
    return "[" + ", ".join(str(column) for column in columns) + "]"
