"""Changes of files relative to the statement log of an engine, which may be running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsql.api.backup import entries_of_engine
from streamsql.api.changing import ChangePlan, plan_of
from streamsql.config import EngineConfig
from streamsql.properties import secrets_of
from streamsql.run_script import NamedText
from streamsql.statements.changes.running import running_of_log
from streamsql.statements.changes.undo import before_last_apply


def plan_of_log(
    config: EngineConfig, texts: Sequence[NamedText], variables: Mapping[str, str], prune: bool
) -> ChangePlan:
    """Compares with the statement log of an engine, which may be running."""
    running = running_of_log(entries_of_engine(config))
    return plan_of(texts, {**running.properties, **config.properties}, variables, running, prune)


def undo_plan_of_log(config: EngineConfig) -> ChangePlan:
    """Changes that an undo would make; CatalogError if nothing was applied, UnsupportedError if
    other definitions followed."""
    entries = entries_of_engine(config)
    secrets = secrets_of(config.properties)
    return plan_of([before_last_apply(entries)], secrets, {}, running_of_log(entries), True)
