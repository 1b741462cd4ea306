"""From the command line's options to an engine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from cli.options import assignments, properties_of

if TYPE_CHECKING:
    from streamsql.engine import Engine


def make_engine(args: argparse.Namespace, *, until_caught_up: bool = False) -> Engine:
    """An engine as the options describe it, not yet started; ConfigError for a wrong option."""
    from streamsql.engine import Engine, EngineConfig

    engine = Engine(
        EngineConfig(
            data_dir=Path(args.data).expanduser() if args.data else None,
            bootstrap_servers=args.bootstrap_servers,
            master=args.master,
            properties=properties_of(args),
            debug=args.debug,
            until_caught_up=until_caught_up,
        )
    )
    defined = assignments(args.define, "--define")
    engine.session.variables.update({name.upper(): value for name, value in defined.items()})
    return engine
