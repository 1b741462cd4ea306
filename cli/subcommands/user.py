"""`streamsql user add|remove|list`: the users file of a server, which follows its changes."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path

from streamsql.errors import ConfigError
from streamsql.users.accounts import add_user, read_accounts, remove_user, role_of


def command(args: argparse.Namespace) -> int:
    """Exit code 0 if it was done."""
    path = Path(args.users_file).expanduser()
    if args.action == "list":
        for account in read_accounts(path).values():
            print(f"{account.user.name}\t{account.user.role.value}")
        return 0
    if args.name is None:
        raise ConfigError(f"user {args.action}: the name is missing")
    if args.action == "remove":
        remove_user(path, args.name)
        print(f"User {args.name} removed")
        return 0
    role = role_of(args.role)
    replaced = add_user(path, args.name, role, _password(args))
    print(f"User {args.name} {'changed' if replaced else 'added'}: {role.value}")
    return 0


def _password(args: argparse.Namespace) -> str:
    """From a file or the terminal: on a command line everybody on the machine could read it."""
    if args.password_file:
        return read_password(args.password_file)
    if not sys.stdin.isatty():
        raise ConfigError("no terminal to ask for the password", hint="Use --password-file.")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise ConfigError("the two passwords differ")
    return password


def read_password(file: str) -> str:
    """The first line of a file, or of standard input for `-`."""
    if file == "-":
        return sys.stdin.readline().rstrip("\r\n")
    try:
        text = Path(file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read {file}: {reason}") from None
    return text.partition("\n")[0].rstrip("\r")
