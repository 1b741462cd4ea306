"""The data folder: paths, and exclusive ownership by one engine."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs

from streamsql.errors import ConfigError
from streamsql.storage import location
from streamsql.storage.location import Location


@dataclass(frozen=True)
class DataDir:
    """Paths in a data folder, without creating it."""

    root: Path
    shared_checkpoints: Location | None = None

    @classmethod
    def at(
        cls, chosen: str | os.PathLike[str] | None = None, checkpoints: Location | None = None
    ) -> DataDir:
        """The folder of `--data`, otherwise of STREAMSQL_DATA, otherwise the user's default."""
        name = chosen or os.environ.get("STREAMSQL_DATA") or platformdirs.user_data_dir("streamsql")
        # Resolved, since the broker is identified by the path of its folder.
        if isinstance(checkpoints, Path):
            checkpoints = checkpoints.expanduser().resolve()
        return cls(Path(name).expanduser().resolve(), checkpoints)

    @property
    def kafka(self) -> Path:
        return self.root / "kafka"

    @property
    def connect(self) -> Path:
        """Configuration of the embedded Connect worker; created when a connector is first used."""
        return self.root / "connect"

    @property
    def plugins(self) -> Path:
        """One folder per installed connector plugin."""
        return self.connect / "plugins"

    @property
    def bundled(self) -> Path:
        """One folder per plugin of streamsql's own, with links to its jars."""
        return self.connect / "bundled"

    @property
    def checkpoints(self) -> Location:
        """One folder per persistent query with Spark's offsets and state. May be in another
        location that all servers of the service share."""
        return self.shared_checkpoints or self.own_checkpoints

    @property
    def own_checkpoints(self) -> Path:
        """Checkpoints of push queries, which end with their engine."""
        return self.root / "checkpoints"

    @property
    def serving(self) -> Path:
        """One folder per served table: a copy of its topic's latest rows."""
        return self.root / "serving"

    @property
    def statements(self) -> Path:
        return self.root / "statements.log"

    @property
    def service(self) -> Path:
        """Name of the service whose command topic in the embedded broker replaces the statement
        log."""
        return self.root / "service"

    @property
    def broker_record(self) -> Path:
        """Process and ports of the embedded broker."""
        return self.root / "broker.json"

    @property
    def broker_lock(self) -> Path:
        return self.root / "broker.lock"

    @property
    def engine_lock(self) -> Path:
        return self.root / "engine.lock"

    @property
    def instance(self) -> str:
        return self._instance.read_text("ascii")

    @property
    def _instance(self) -> Path:
        return self.root / "instance"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def free(self) -> dict[str, int]:
        """Free bytes of the data and the checkpoint disk; an object store is unlimited."""
        found = {}
        for name, folder in (("data", self.root), ("checkpoints", self.checkpoints)):
            with suppress(OSError):
                if isinstance(folder, Path):
                    found[name] = shutil.disk_usage(folder).free
        return found

    def create(self) -> DataDir:
        """Creates the folders with mode 0700; an existing folder keeps its mode. Raises ConfigError
        on failure."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.kafka, self.own_checkpoints, self.logs):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not self._instance.exists():
                draft = self.root / f"instance.{secrets.token_hex(8)}"
                draft.write_text(draft.suffix[1:], "ascii")
                draft.replace(self._instance)
        except OSError as error:
            raise ConfigError(
                f"cannot use the data folder {self.root}: {error.strerror}",
                hint="Name another folder with --data.",
            ) from error
        try:
            location.make(self.checkpoints)
        except OSError as error:
            raise ConfigError(
                f"cannot use the folder of checkpoints {self.checkpoints}: {error.strerror}",
                hint="Name another folder with --checkpoints.",
            ) from error
        return self


class Ownership:
    """Exclusive ownership of a data folder until closed. The lock ends with the process."""

    def __init__(self, data: DataDir) -> None:
        """Raises ConfigError with the process id of another owner."""
        self.data = data.create()
        self._handle: IO[str] | None = data.engine_lock.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._handle)
            self.close()
            raise ConfigError(
                f"the data folder {data.root} is in use by another engine{holder}",
                hint="Stop that engine, or use another folder with --data.",
            ) from None
        self._handle.seek(0)
        self._handle.truncate()
        json.dump({"pid": os.getpid()}, self._handle)
        self._handle.flush()

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def __enter__(self) -> Ownership:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _holder(handle: IO[str]) -> str:
    try:
        handle.seek(0)
        return f" (process {json.load(handle)['pid']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
