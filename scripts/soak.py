"""The long tests, in parts: scripts/soak.py [PART ..| --today | --list]; all of them without one.

A part takes half an hour or more. `--today` runs one by the date, for DAILY_SECONDS: it skips the
tests that are left then. The next time that part begins with other tests.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

Command = Sequence[str]

DAILY_SECONDS = 720
"""CI has 45 minutes: `make test` takes up to 25 with its setup, and the last test begins late."""

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
    "queries": [
        _slow("tests/queries/test_cases.py", "tests/queries/test_modes.py"),
        # `make test` interprets their expressions.
        (*_PYTEST, "-m", _HEAVY, "tests/queries/test_cases.py"),
    ],
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


DAILY = [part for part in PARTS if part != "live"]
"""The parts of a day: `live` measures, and needs a machine to itself."""


def today(now: datetime.date) -> tuple[str, int]:
    """The part of a day, each day the next one, and how often each part had its day before."""
    times, number = divmod(now.toordinal(), len(DAILY))
    return DAILY[number], times


def _run(part: str, further: Mapping[str, str]) -> bool:
    print(f"make soak PART={part}", flush=True)
    begin = time.monotonic()
    # Each engine starts a JVM of its own, as in production.
    environment = {**os.environ, "STREAMSQL_TEST_NEW_JVM": "1", **further}
    codes = [
        subprocess.run([sys.executable, "-m", *command], env=environment, check=False).returncode
        for command in PARTS[part]
    ]
    print(f"{part}: {time.monotonic() - begin:.0f} s", flush=True)
    return not any(codes)


def _run_today() -> bool:
    """As much of today's part as a day has time for; tests/conftest.py reads the environment."""
    part, times = today(datetime.datetime.now(datetime.UTC).date())
    return _run(
        part,
        {
            "STREAMSQL_TEST_UNTIL": str(time.time() + DAILY_SECONDS),
            "STREAMSQL_TEST_ROTATION": str(times),
        },
    )


def main(arguments: Sequence[str]) -> int:
    if list(arguments) == ["--list"]:
        print(*PARTS, sep="\n")
        return 0
    if list(arguments) == ["--today"]:
        return 0 if _run_today() else 1
    chosen = arguments or list(PARTS)
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = [part for part in chosen if not _run(part, {})]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
