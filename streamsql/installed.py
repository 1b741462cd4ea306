"""Messages for what is not installed: the engine beside the client, and optional libraries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from streamsql.errors import ConfigError

_EXTRAS = {"confluent_kafka": "registry", "pandas": "notebook", "pyarrow": "arrow"}


def not_installed(error: ModuleNotFoundError) -> ConfigError | None:
    """What to install for a module that is missing; None if all of streamsql is installed."""
    name = error.name or ""
    if name.startswith("streamsql.") and find_spec("streamsql.engine") is None:
        return ConfigError(
            "the engine is not installed",
            detail="streamsql-client runs check, and over a server the shell, plan and apply.",
            hint="Install the engine: pip install streamsql",
        )
    if extra := _EXTRAS.get(name):
        return ConfigError(
            f"{name} is not installed", hint=f"pip install 'streamsql-client[{extra}]'"
        )
    return None


@contextmanager
def installation_checked() -> Iterator[None]:
    """Raises ConfigError where an import fails because the engine or an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None
