"""`streamsql connectors install|list|remove`: plugins of the embedded Kafka Connect worker."""

from __future__ import annotations

import argparse
from itertools import count

from streamsql.cli.terminal.progress import Bar


def command(args: argparse.Namespace) -> int:
    """Exit code 0 if it was done."""
    from streamsql.api.connectors import install, installed, remove
    from streamsql.data_folder import DataDir

    data = DataDir.at(args.data)
    if args.action == "install":
        with Bar(f"Installing {args.origin}", "files") as bar:
            numbers = count(1)
            plugin = install(data, args.origin, lambda name: bar.update(next(numbers), None))
        print(f"Plugin {plugin.name} installed: {len(plugin.files)} files")
    elif args.action == "remove":
        remove(data, args.name)
        print(f"Plugin {args.name} removed")
    else:
        for plugin in installed(data):
            print(f"{plugin.name}\t{plugin.origin}")
    return 0
