"""The options of `streamsql user`."""

from __future__ import annotations

import argparse


def add_user_options(parser: argparse.ArgumentParser) -> None:
    """Action, users file and user name."""
    parser.add_argument("action", choices=("add", "remove", "list"))
    parser.add_argument("name", metavar="NAME", nargs="?", help="the user's name")
    parser.add_argument(
        "--users-file", metavar="FILE", required=True, help="made by the first `user add`"
    )
    parser.add_argument(
        "--role",
        default="read-only",
        help="read-only (default), developer or admin",
    )
    parser.add_argument(
        "--password-file",
        metavar="FILE",
        help="a file with the password in its first line; - is standard input (default: ask)",
    )
