"""Share of sqllogictest files that pass over the PostgreSQL port, run by the public client.

    python -m benchmarks.slt --port 5433 FILE_OR_FOLDER ..
    python -m benchmarks.slt --port 5433 --queries 200 SQLITE_FILE ..

With --queries each of the first queries of a file counts, and the values are compared as SQLite
writes them (three digits of a number of type R), which the public client does not do.

The client is `sqllogictest` (cargo install --locked sqllogictest-bin; one that is built without
--locked does not compare the texts of errors). Files of tests/slt/skip.txt are not run: what they
test has no meaning here. What a file leaves behind is dropped.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
from psycopg import sql

from streamsql.errors import StreamSQLError
from streamsql.testing.slt.records import read
from streamsql.testing.slt.run import Outcome, differences

SKIP = Path(__file__).parents[1] / "tests" / "slt" / "skip.txt"
SUFFIXES = (".slt", ".part", ".test")


def skipped(path: Path, reasons: dict[str, str]) -> str | None:
    """Why a file is not run; None if it is."""
    return next((why for glob, why in reasons.items() if fnmatch.fnmatch(str(path), glob)), None)


def read_reasons(path: Path) -> dict[str, str]:
    """Reasons by pattern of the path."""
    lines = (line for line in path.read_text("utf-8").splitlines() if line and line[0] != "#")
    return {glob.strip(): why.strip() for glob, _, why in (line.partition("|") for line in lines)}


def files_of(paths: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        found = (p for p in path.rglob("*") if p.suffix in SUFFIXES) if path.is_dir() else [path]
        yield from sorted(found)


def run(client: str, port: int, path: Path, seconds: float) -> str | None:
    """The first error of a file; None if it passes."""
    command = [client, "-e", "postgres", "-h", "127.0.0.1", "-p", str(port), "-u", "streamsql"]
    command += ["-d", "dev", "--color", "never", str(path.resolve())]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds, cwd=path.parent
        )
    except subprocess.TimeoutExpired:
        return f"more than {seconds:g} s"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return " | ".join(lines[1:8])[:600]


def drop_all(port: int) -> None:
    """Views first, which read tables and other views."""
    address = f"host=127.0.0.1 port={port} user=streamsql dbname=dev"
    with psycopg.connect(address, autocommit=True) as connection:
        for kind, column, relation in _KINDS:
            for (name,) in connection.execute(f"SELECT {column} FROM {relation}").fetchall():
                drop = sql.SQL("DROP {} IF EXISTS {} CASCADE")
                with suppress(psycopg.errors.WrongObjectType):  # a stream of the server
                    connection.execute(drop.format(sql.SQL(kind), sql.Identifier(name)))


_KINDS = (
    ("MATERIALIZED VIEW", "matviewname", "pg_matviews"),
    ("VIEW", "viewname", "pg_views WHERE schemaname = 'public'"),
    ("TABLE", "tablename", "pg_tables WHERE schemaname = 'public'"),
)


class Port:
    """A connection whose values are texts, as the server sends them."""

    def __init__(self, port: int) -> None:
        where = f"host=127.0.0.1 port={port} user=streamsql dbname=dev"
        self.connection = psycopg.connect(where, autocommit=True)

    def run(self, sql: str) -> Outcome:
        result = self.connection.pgconn.exec_(sql.encode())
        if result.error_message:
            raise StreamSQLError(result.error_message.decode().strip())
        columns = range(result.nfields)
        rows = [
            [None if (v := result.get_value(n, c)) is None else v.decode() for c in columns]
            for n in range(result.ntuples)
        ]
        return Outcome(rows, result.command_tuples)


def count_queries(port: int, path: Path, most: int) -> tuple[int, int]:
    """How many of the first queries of a file are right, and how many were run."""
    database = Port(port)
    right = run = 0
    for record in read(path):
        if record.types is not None:
            if run == most:
                break
            run += 1
        wrong = differences([record], database)
        right += record.types is not None and not wrong
        if wrong:
            print("WRONG", " | ".join(wrong)[:600], flush=True)
    return right, run


def main() -> int:
    """0 only if all files that were run pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--port", type=int, default=5433)
    parser.add_argument("--client", default="sqllogictest")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long a file may take")
    parser.add_argument("--queries", type=int, help="count the first queries of each file")
    args = parser.parse_args()
    reasons = read_reasons(SKIP)
    counts: Counter[str] = Counter()
    for path in files_of(args.paths):
        if args.queries is not None:
            begun = time.monotonic()
            right, run_ = count_queries(args.port, path, args.queries)
            took = time.monotonic() - begun
            drop_all(args.port)
            print(f"{path}: {right} of {run_} queries right ({took:.1f} s)", flush=True)
            counts.update(right=right, wrong=run_ - right)
            continue
        if why := skipped(path, reasons):
            counts["skipped"] += 1
            print(f"SKIPPED {path}: {why}", flush=True)
            continue
        begun = time.monotonic()
        error = run(args.client, args.port, path, args.seconds)
        took = time.monotonic() - begun
        if error:
            drop_all(args.port)
        counts["failed" if error else "passed"] += 1
        head = f"{'FAILED' if error else 'PASSED'} {path} ({took:.1f} s)"
        print(f"{head}: {error}" if error else head, flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["failed"] or counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
