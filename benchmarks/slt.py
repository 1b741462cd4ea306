"""Share of sqllogictest files that pass over the PostgreSQL port, run by the public client.

    python -m benchmarks.slt --port 5433 FILE_OR_FOLDER ..

The client is `sqllogictest` (cargo install sqllogictest-bin). Files of tests/slt/skip.txt are not
run: what they test has no meaning here. What a file leaves behind is dropped.
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

SKIP = Path(__file__).parents[1] / "tests" / "slt" / "skip.txt"
SUFFIXES = (".slt", ".test")


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


def main() -> int:
    """0 only if all files that were run pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--port", type=int, default=5433)
    parser.add_argument("--client", default="sqllogictest")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long a file may take")
    args = parser.parse_args()
    reasons = read_reasons(SKIP)
    counts: Counter[str] = Counter()
    for path in files_of(args.paths):
        if why := skipped(path, reasons):
            counts["skipped"] += 1
            print(f"SKIPPED {path}: {why}", flush=True)
            continue
        begun = time.monotonic()
        error = run(args.client, args.port, path, args.seconds)
        took = f"{time.monotonic() - begun:.1f} s"
        counts["failed" if error else "passed"] += 1
        print(f"FAILED {path}: {took}: {error}" if error else f"PASSED {path}: {took}", flush=True)
        if error:
            drop_all(args.port)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
