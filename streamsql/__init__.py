"""SQL over streams: continuous queries on Kafka, run by Spark.

The names below are loaded when they are first used: `import streamsql` alone is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streamsql.installed import not_installed

if TYPE_CHECKING:
    from streamsql.client.connection import Connection, connect
    from streamsql.client.result import QueryResult
    from streamsql.client.row import Row
    from streamsql.engine import Engine, EngineConfig
    from streamsql.errors import StreamSQLError
    from streamsql.parser import parse
    from streamsql.session import Session

__all__ = [
    "Connection",
    "Engine",
    "EngineConfig",
    "QueryResult",
    "Row",
    "Session",
    "StreamSQLError",
    "connect",
    "parse",
]

_HOMES = {
    "Connection": "streamsql.client.connection",
    "QueryResult": "streamsql.client.result",
    "Row": "streamsql.client.row",
    "connect": "streamsql.client.connection",
    "Engine": "streamsql.engine",
    "EngineConfig": "streamsql.engine",
    "Session": "streamsql.session",
    "StreamSQLError": "streamsql.errors",
    "parse": "streamsql.parser",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        if (missing := not_installed(error)) is None:
            raise
        raise ImportError(f"{missing.message}. {missing.hint}", name=home) from None


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    from streamsql.client.magic import register

    register(shell)
