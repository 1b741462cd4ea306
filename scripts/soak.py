"""The long tests, in parts: scripts/soak.py [PART ..| --today | --list]; all of them without one.

Each part takes at most 40 minutes on two cores. CI runs one a day, by the date.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from collections.abc import Sequence

Command = Sequence[str]

_LIGHT = "not spark and not kafka and not slow"
_HEAVY = "(spark or kafka) and not slow"
_PYTEST = ("pytest", "-q", "-rs", "--timeout=3600")
_BY_FILE = ("--dist", "loadscope", "--no-loadscope-reorder")


def _slow(*selected: str) -> Command:
    return (*_PYTEST, "-m", "slow", *selected)


def _failures(*runs: str) -> Command:
    names = " or ".join(runs)
    return _slow("tests/delivery/test_exactly_once.py", "-k", f"many_failures and ({names})")


PARTS: dict[str, Sequence[Command]] = {
    "kills": [_slow("tests/soak/test_kill.py", "tests/soak/test_replay_kills.py")],
    "servers": [_slow("tests/soak/test_server_kill.py", "tests/soak/test_malformed.py")],
    "failures-1": [_failures("auto-2", "auto-3", "auto-4", "microbatch-2")],
    "failures-2": [_failures("auto-5", "auto-6", "microbatch-3", "microbatch-4")],
    "failures-3": [_failures("auto-7", "auto-8", "microbatch-5", "microbatch-6")],
    "failures-4": [_failures("auto-9", "auto-10", "microbatch-7", "microbatch-8")],
    "failures-5": [_failures("auto-11", "microbatch-9", "microbatch-10", "microbatch-11")],
    "delivery": [
        _slow("tests/delivery/test_exactly_once.py", "-k", "not many_failures"),
        _slow("tests/delivery/test_broker_crash.py", "tests/upgrade"),
    ],
    "statements": [
        _slow(
            "tests/delivery/test_statement_kills.py",
            "tests/delivery/test_apply_kills.py",
            "tests/delivery/test_takeover.py",
        )
    ],
    "files": [
        _slow("tests/delivery/test_file_sinks.py"),
        _slow("tests/stores", "tests/capture", "tests/outages"),
    ],
    "cluster": [_slow("tests/cluster")],
    "memory": [_slow("tests/memory")],
    "changes": [_slow("tests/engine", "-n", "2", *_BY_FILE)],
    "restarts": [(*_PYTEST, "-n", "2", *_BY_FILE, "-m", _HEAVY, "tests/engine")],
    "queries": [_slow("tests/queries/test_cases.py", "tests/queries/test_modes.py")],
    "verify": [_slow("tests/queries/test_verified.py")],
    "corpora": [
        (
            *(*_PYTEST, "-n", "logical", "--hypothesis-profile=thorough"),
            *("-m", _LIGHT, "-k", "fuzz or generated", "tests/parser", "tests/planner"),
        ),
        _slow("tests/planner", "tests/postgres", "tests/conformance"),
    ],
    "live": [("benchmarks.live", "--idle", "20", "--check")],
    "nexmark": [_slow("tests/examples/test_nexmark.py")],
    "flights": [_slow("tests/examples", "--ignore=tests/examples/test_nexmark.py")],
    "pages": [
        _slow("tests/server", "tests/docs", "tests/deploy"),
        _slow("tests/cli", "tests/client", "tests/executor", "tests/jvm"),
    ],
}


def today(now: datetime.date) -> str:
    """The part of a day: each day the next one."""
    return list(PARTS)[now.toordinal() % len(PARTS)]


def _run(part: str) -> bool:
    print(f"make soak PART={part}", flush=True)
    begin = time.monotonic()
    # Each engine starts a JVM of its own, as in production.
    environment = {**os.environ, "STREAMSQL_TEST_NEW_JVM": "1"}
    codes = [
        subprocess.run([sys.executable, "-m", *command], env=environment, check=False).returncode
        for command in PARTS[part]
    ]
    print(f"{part}: {time.monotonic() - begin:.0f} s", flush=True)
    return not any(codes)


def _chosen(arguments: Sequence[str]) -> Sequence[str]:
    if list(arguments) == ["--today"]:
        return [today(datetime.datetime.now(datetime.UTC).date())]
    return arguments or list(PARTS)


def main(arguments: Sequence[str]) -> int:
    if list(arguments) == ["--list"]:
        print(*PARTS, sep="\n")
        return 0
    chosen = _chosen(arguments)
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = [part for part in chosen if not _run(part)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
