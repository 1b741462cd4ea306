"""dbt's adapter for streamsql.

`client` speaks HTTP with a server, `definitions` writes the statements of models, `builds` has
them be what runs; none of these knows dbt. `connections`, `relations` and `adapter` are what dbt
asks for.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """dbt asks for the Plugin; the modules that know no dbt are there without it."""
    if name != "Plugin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dbt.adapters.base import AdapterPlugin
    from dbt.adapters.streamsql.adapter import StreamsqlAdapter
    from dbt.adapters.streamsql.connections import StreamsqlCredentials
    from dbt.include.streamsql import PACKAGE_PATH

    return AdapterPlugin(
        adapter=StreamsqlAdapter, credentials=StreamsqlCredentials, include_path=PACKAGE_PATH
    )
