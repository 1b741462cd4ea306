"""Whether an engine belongs to a service, and the service's use of the data folder. A single engine
stores its statements in a file of the folder. Once a server has used the folder's broker, they are
in a topic of that broker for all users of the folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streamsql.config import EngineConfig
from streamsql.data_folder import DataDir
from streamsql.errors import ConfigError, ExternalError
from streamsql.log.entries import Entry, read_file
from streamsql.storage import location
from streamsql.storage.location import location_of
from streamsql.storage.store import StoreFiles, no_store

_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def joined(config: EngineConfig) -> EngineConfig:
    """The configuration with the service of its data folder. ConfigError for an invalid name, or
    another than the folder's; ExternalError if the folder is unreadable."""
    known = _known(config)
    given = config.service_id
    if given is not None and (not given or set(given) - _NAME_CHARACTERS or len(given) > 200):
        raise ConfigError(f"invalid service id {given!r}: use letters, digits, '.', '_' and '-'")
    if known is None or known == given:
        return config
    if given is not None:
        raise ConfigError(
            f"the data folder belongs to the service {known}",
            hint="Leave the service id out, or use another folder with --data.",
        )
    return replace(config, service_id=known)


def data_of(config: EngineConfig, store: Callable[[], StoreFiles] = no_store) -> DataDir:
    """The paths of an engine; `store` is asked for files of an object store. Services that share a
    folder of checkpoints do not mix them, nor do a service of another cluster and the data folder's
    own engine. ConfigError for checkpoints in a store that is not known."""
    own = DataDir.at(config.data_dir)
    shared = None if config.checkpoints is None else location_of(config.checkpoints, store)
    if shared is None and config.service_id is not None and config.bootstrap_servers is not None:
        shared = own.root / "services"
    if shared is None:
        return own
    return DataDir.at(config.data_dir, shared / (config.service_id or ""))


def claim(config: EngineConfig, data: DataDir) -> None:
    """Assigns the data folder to the service, if the broker is the folder's own."""
    if config.bootstrap_servers is None and config.service_id is not None:
        try:
            data.service.write_text(config.service_id, "utf-8")
        except OSError as error:
            raise ExternalError(f"cannot write {data.service}: {error.strerror}") from error


def entries_before(config: EngineConfig, data: DataDir) -> list[Entry]:
    """Entries of a single engine in a folder that a service now uses."""
    return read_file(data.statements) if config.bootstrap_servers is None else []


def _known(config: EngineConfig) -> str | None:
    if config.bootstrap_servers is not None:
        return None
    file = DataDir.at(config.data_dir).service
    # An unreadable name must not pass for none: the engine would start with an empty catalog.
    return (location.read(file) or b"").decode().strip() or None
