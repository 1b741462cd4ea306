"""Implementation of `streamsql server --openlineage-url`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamsql.errors import ConfigError

if TYPE_CHECKING:
    from streamsql.engine import Engine

URL_VARIABLE = "OPENLINEAGE_URL"
"""Of OpenLineage's own clients, for where the option is not given."""


@contextmanager
def reporting(url: str | None, engine: Engine, service_id: str) -> Iterator[None]:
    """Reports the engine's queries to the backend of that URL, if given. ConfigError for an invalid
    URL or a missing extra."""
    url = url or os.environ.get(URL_VARIABLE)
    if not url:
        yield
        return
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"{url} is not the URL of a lineage backend", hint="Use http(s)://HOST.")
    try:
        from streamsql.server.telemetry.openlineage import LineageReporter
    except ImportError:
        raise ConfigError(
            "reporting to a lineage backend requires OpenLineage's client",
            hint="pip install 'streamsql[openlineage]'",
        ) from None
    reporter = LineageReporter(engine.inspection, url, service_id.strip("_"))
    reporter.start()
    try:
        yield
    finally:
        reporter.close()
