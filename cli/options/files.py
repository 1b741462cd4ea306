"""The options of commands that take files for what is to be."""

from __future__ import annotations

import argparse


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Which files say it, and whether they say all."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a .sql file or a folder of such; - is stdin"
    )
    parser.add_argument("--prune", action="store_true", help="drop what is not in the files")
