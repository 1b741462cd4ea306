"""A real PostgreSQL for tests of what reads one: its own folder and port, stopped and started at
will."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from awaiting import await_until
from ports import free_port

USER, PASSWORD = "reader", "sesame"
_SECONDS = 60.0


def _binaries() -> Path | None:
    """Where `postgres` and `initdb` are, be it as Debian has them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


class Database:
    """One server; `execute` runs SQL as its superuser."""

    def __init__(
        self, folder: Path, binaries: Path, user: str | None, settings: Sequence[str]
    ) -> None:
        self.port = free_port()
        self._settings = settings
        self._folder, self._binaries, self._user = folder, binaries, user
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(folder / "data"), "-U", "admin", "--auth=trust", "-N")
        rules = "local all admin trust\nhost all admin 127.0.0.1/32 trust\n"
        rules += f"host all {USER} 127.0.0.1/32 scram-sha-256\n"
        (folder / "data" / "pg_hba.conf").write_text(rules, "utf-8")
        self.start()
        self.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'")
        self.execute("GRANT pg_read_all_data TO reader")

    @property
    def url(self) -> str:
        """As JDBC says it."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    @property
    def conninfo(self) -> str:
        """As psycopg says it, of the superuser."""
        return f"host=127.0.0.1 port={self.port} user=admin dbname=postgres connect_timeout=5"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, user=self._user, cwd="/")

    def start(self) -> None:
        """Returns when it takes connections."""
        command = [str(self._binaries / "postgres"), "-D", str(self._folder / "data")]
        command += ["-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        command += ["-c", f"unix_socket_directories={self._folder}"]
        command += [part for setting in self._settings for part in ("-c", setting)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stderr=log, user=self._user, cwd="/")
        await_until(self._answers, "PostgreSQL to take connections", _SECONDS, every=0.1)

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """At once, whatever is connected."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_SECONDS)
            self._process = None

    def execute(self, sql: str) -> None:
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            connection.execute(sql)


@contextmanager
def writable_database() -> Iterator[Database]:
    """One in whose tables USER may write, and create others."""
    with database() as found:
        found.execute(f"GRANT pg_write_all_data TO {USER}")
        found.execute(f"GRANT CREATE ON SCHEMA public TO {USER}")
        yield found


@contextmanager
def database(*settings: str) -> Iterator[Database]:
    """A new one with these settings in addition (`name=value`); skips the test where PostgreSQL is
    not installed."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    # It refuses to run as root, and root's folders are closed to others.
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="streamsql-postgresql-"))
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    try:
        made = Database(folder, binaries, user, settings)
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
