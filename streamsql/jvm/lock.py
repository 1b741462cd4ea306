"""The lock file: jars in addition to PySpark's, with size and SHA-256."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

from streamsql.errors import InternalError

Group = Literal[
    "spark",
    "kafka",
    "connect",
    "postgresql",
    "postgresql-source",
    "sqlite",
    "s3",
    "iceberg",
    "java-lint",
    "java-test",
    "java-client",
    "connect-test",
]
"""`spark`: the connector, always needed; `kafka`: the embedded broker; `connect`: the embedded
Connect worker, fetched by the first `CREATE CONNECTOR`; `postgresql`: the driver of
lookup tables and sinks, fetched by the first query that uses a database; `sqlite`: that of sinks in
files of SQLite; `postgresql-source`: Debezium, which
captures tables of PostgreSQL; `s3`: the client of object stores, for checkpoints that are in one;
`iceberg`: fetched by the first query that writes a table of it, and in a checkout by the build; in
a checkout alone: `java-lint` and `java-test`, what checks and
tests the JVM part, `java-client`, what tests talk to a server with, and `connect-test`, a connector
that tests install."""


@dataclass(frozen=True)
class Jar:
    """One line of the lock file; `size` in bytes."""

    group: str
    organisation: str
    artifact: str
    version: str
    size: int
    sha256: str

    @property
    def coordinates(self) -> str:
        """As Maven writes them: `organisation:artifact:version`."""
        return f"{self.organisation}:{self.artifact}:{self.version}"

    @property
    def path(self) -> Path:
        """Relative to the cache. The folder keeps apart equal file names of two organisations."""
        return Path(self.organisation) / f"{self.artifact}-{self.version}.jar"


_LINE = re.compile(
    rf"({'|'.join(get_args(Group))}) ([^:\s]+):([^:\s]+):([^:\s]+) (\d+) ([0-9a-f]{{64}})"
)


def parse_lock(text: str) -> list[Jar]:
    """The jars of a lock file; InternalError names an invalid line."""
    jars = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InternalError(f"jars.lock, line {number}: not a jar: {line}")
        group, organisation, artifact, version, size, sha256 = match.groups()
        jars.append(Jar(group, organisation, artifact, version, int(size), sha256))
    return jars


@functools.cache
def locked_jars(group: Group) -> tuple[Jar, ...]:
    """The jars of one group, in the order of the lock file."""
    text = resources.files("streamsql.jvm").joinpath("jars.lock").read_text("utf-8")
    return tuple(jar for jar in parse_lock(text) if jar.group == group)
