"""Options of commands with pipeline files."""

from __future__ import annotations

import argparse


def add_file_options(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Which files say it, at least one where they are `needed`, and whether they say all."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+" if needed else "*",
        help="a .sql file or a folder of such; - is stdin",
    )
    parser.add_argument(
        "--prune", action="store_true", help="drop objects that are not in the files"
    )
