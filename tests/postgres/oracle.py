"""A real PostgreSQL, where one is installed: what it answers is what our server should."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from awaiting import await_until
from ports import free_port
from postgres.answers import Answers

SECONDS = 60.0
WITHOUT = "there is no PostgreSQL (Debian: postgresql)"
_NOBODY = "nobody"
_SETTINGS = ("fsync=off", "timezone=UTC", "max_connections=40", "shared_buffers=32MB")


def programs() -> Path | None:
    """The folder of initdb and postgres; None where there are none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    initdb = shutil.which("initdb")
    if not found and initdb is not None:
        found = [Path(initdb)]
    return found[-1].parent if found else None


def _version(initdb: Path) -> int:
    name = initdb.parent.parent.name
    return int(name) if name.isdigit() else 0


@contextmanager
def postgres(user: str = "streamsql", database: str = "streamsql") -> Iterator[str]:
    """Where a new server listens, as psycopg has it, until the block ends."""
    folder = programs()
    assert folder is not None, WITHOUT
    # It does not run as root; nor does another user see into pytest's own folders.
    account = _NOBODY if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="streamsql-postgres-") as name:
        if account is not None:
            os.chown(name, pwd.getpwnam(account).pw_uid, -1)
        data = f"{name}/data"
        options = ["-U", user, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(
            [folder / "initdb", "-D", data, *options],
            check=True,
            capture_output=True,
            user=account,
            cwd=name,
        )
        port = free_port()
        settings = (*_SETTINGS, f"port={port}", f"unix_socket_directories={name}")
        server = subprocess.Popen(
            [folder / "postgres", "-D", data, *(part for s in settings for part in ("-c", s))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=account,
            cwd=name,
        )
        where = f"host=127.0.0.1 port={port} user={user} dbname="
        try:
            await_until(lambda: _answers(f"{where}postgres"), "PostgreSQL answers", SECONDS)
            with psycopg.connect(f"{where}postgres", autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {database}")
            yield f"{where}{database}"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(SECONDS)


@contextmanager
def answers(*scripts: Path) -> Iterator[Answers]:
    """Those of a new server once the scripts have run; the test is skipped where there is none."""
    if programs() is None:
        pytest.skip(WITHOUT)
    with postgres() as where:
        with psycopg.connect(where, autocommit=True) as connection:
            for script in scripts:
                connection.execute(script.read_bytes())
        with closing(Answers(where)) as found:
            yield found


def _answers(where: str) -> bool:
    try:
        psycopg.connect(where).close()
    except psycopg.OperationalError:
        return False
    return True
