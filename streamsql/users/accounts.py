"""The users file, one user per line: `name:role:hash[:verifier]`. Passwords are hashed with
Argon2id. A check takes some hundredths of a second, so successful logins are cached in memory, not
as passwords. The verifier is for SCRAM (scram.py); older lines have none. The server follows
changes of the file."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from streamsql.errors import ConfigError
from streamsql.roles import Role
from streamsql.users.scram import Verifier, decoy, read_verifier, verifier_of

REMEMBERED = 1000
"""Size of the login cache."""
_NAME = re.compile(r"[^\s:#][^\s:]{0,127}")
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""OWASP's parameters for servers: a check costs 19 MiB and some hundredths of a second."""
_NOBODY = _HASHER.hash(secrets.token_hex(16))
"""Makes the response time of an unknown name equal to that of a wrong password."""


@dataclass(frozen=True)
class User:
    """An authenticated user."""

    name: str
    role: Role


@dataclass(frozen=True)
class Account:
    """A line of the users file."""

    user: User
    hash: str
    verifier: Verifier | None = None


class Users:
    """The users of a file, reloaded when it changes; thread-safe."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError if the file cannot be read."""
        self._path = path
        self._lock = threading.Lock()
        self._salt = secrets.token_bytes(32)
        self._remembered: dict[bytes, User] = {}
        self._stamp = _stamp(path)
        self._accounts = read_accounts(path)

    def remembered(self, name: str, password: str) -> User | None:
        """The user of cached credentials, without a password check."""
        self._follow()
        with self._lock:
            return self._remembered.get(self._digest(name, password))

    def log_in(self, name: str, password: str) -> User | None:
        """Checks a password, which is slow; None if it is wrong."""
        self._follow()
        with self._lock:
            accounts = self._accounts
        account = accounts.get(name)
        if not _matches(account.hash if account else _NOBODY, password) or account is None:
            return None
        with self._lock:
            if accounts is self._accounts:
                while len(self._remembered) >= REMEMBERED:
                    self._remembered.pop(next(iter(self._remembered)))
                self._remembered[self._digest(name, password)] = account.user
        return account.user

    def verifier(self, name: str) -> Verifier | None:
        """The SCRAM verifier of a user; None if the user has none. An unknown name gets a verifier
        that no password matches, so clients cannot detect it."""
        account = self.account(name)
        if account is not None:
            return account.verifier
        with self._lock:
            others = list(self._accounts.values())
        like = others[int.from_bytes(self._digest(name, "")) % len(others)] if others else None
        return None if like is not None and like.verifier is None else decoy(name, self._salt)

    def account(self, name: str) -> Account | None:
        """The current line of a user."""
        self._follow()
        with self._lock:
            return self._accounts.get(name)

    def _digest(self, name: str, password: str) -> bytes:
        return hmac.digest(self._salt, f"{name}\0{password}".encode(), "sha256")

    def _follow(self) -> None:
        """Keeps the last valid content while the file is invalid or missing."""
        stamp = _stamp(self._path)
        if stamp is None or stamp == self._stamp:
            return
        try:
            accounts = read_accounts(self._path)
        except ConfigError:
            return
        with self._lock:
            self._stamp, self._accounts, self._remembered = stamp, accounts, {}


def _matches(hash: str, password: str) -> bool:
    try:
        return _HASHER.verify(hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_accounts(path: Path) -> dict[str, Account]:
    """Accounts by name; ConfigError for an invalid file."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"cannot read the users file {path}: {reason}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            account = _account(line.strip(), f"{path}, line {number}")
            found[account.user.name] = account
    return found


def _account(line: str, where: str) -> Account:
    name, role, hash, verifier = ([*line.split(":", 3), "", "", ""])[:4]
    found = read_verifier(verifier) if verifier else None
    if not hash.startswith("$argon2") or (verifier and found is None):
        raise ConfigError(
            f"{where}: malformed line of a user", hint="streamsql user add writes the file."
        )
    return Account(User(name, role_of(role)), hash, found)


def role_of(text: str) -> Role:
    try:
        return Role(text.lower())
    except ValueError:
        names = ", ".join(role.value for role in Role)
        raise ConfigError(f"there is no role {text}", hint=f"The roles are {names}.") from None


def add_user(path: Path, name: str, role: Role, password: str) -> bool:
    """Adds or replaces a user; returns whether the name existed. Creates the file with mode
    0600."""
    if not _NAME.fullmatch(name):
        raise ConfigError("a user's name has no spaces or colons, and does not begin with #")
    if not password:
        raise ConfigError("a password cannot be empty")
    accounts = read_accounts(path) if path.exists() else {}
    replaced = name in accounts
    accounts[name] = Account(User(name, role), _HASHER.hash(password), verifier_of(password))
    _write(path, accounts)
    return replaced


def remove_user(path: Path, name: str) -> None:
    """Removes a user; ConfigError if the name is unknown."""
    accounts = read_accounts(path)
    if name not in accounts:
        raise ConfigError(f"there is no user {name} in {path}")
    del accounts[name]
    _write(path, accounts)


def _line(account: Account) -> str:
    parts = [account.user.name, account.user.role.value, account.hash]
    return ":".join(parts if account.verifier is None else [*parts, str(account.verifier)]) + "\n"


def _write(path: Path, accounts: Mapping[str, Account]) -> None:
    """Atomic, since a server may read it concurrently."""
    lines = [_line(account) for account in accounts.values()]
    path.parent.mkdir(parents=True, exist_ok=True)
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
