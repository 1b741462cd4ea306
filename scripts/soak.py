"""The long tests, in parts, each of which takes half an hour or more and 90 minutes at most.

`--seconds` bounds a part: tests that have not begun by then are skipped, and one that runs much
longer is cut off. `--today` runs one part by the date for DAILY_SECONDS; the next time, that part
begins with other tests.
"""

from __future__ import annotations

import argparse
import datetime
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

Command = Sequence[str]

PART_SECONDS = 90 * 60
DAILY_SECONDS = 600
"""CI has 45 minutes, of which `make test` with its setup takes some 15."""
CUT_SECONDS = 240
"""How long a test may continue when no other one begins."""
END_SECONDS = 180
"""How long fixtures and reports may take after that."""
STOP_SECONDS = 30
"""How long a command may take to end once it is interrupted."""

_LIGHT = "not spark and not kafka and not slow"
_HEAVY = "(spark or kafka) and not slow"
_PYTEST = ("pytest", "-q", "-rs", "--timeout=3600")
_BY_FILE = ("--dist", "loadscope", "--no-loadscope-reorder")


def _slow(*selected: str) -> Command:
    return (*_PYTEST, "-m", "slow", *selected)


def _failures(*runs: str) -> Command:
    names = " or ".join(runs)
    return _slow("tests/delivery/test_exactly_once.py", "-k", f"many_failures and ({names})")


def _random_views(first: int) -> Command:
    """A quarter of the seeds, 30 of them a test."""
    seeds = " or ".join(str(seed) for seed in range(first, first + 150, 30))
    return _slow("tests/views/test_random_views.py", "-k", f"many_random and ({seeds})")


def _graphs(first: int) -> Command:
    """A sixteenth of the random graphs, ten of them a test."""
    seeds = " or ".join(f"views[{seed}]" for seed in range(first, first + 320, 10))
    return _slow("tests/engine/test_random_graphs.py", "-k", seeds)


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
        _slow("tests/kafka", "tests/log", "tests/runtime", "tests/connectors"),
    ],
    "cluster": [_slow("tests/cluster")],
    "memory": [_slow("tests/memory")],
    "changes": [
        _slow("tests/engine", "--ignore=tests/engine/test_random_graphs.py", "-n", "2", *_BY_FILE)
    ],
    "restarts": [(*_PYTEST, "-n", "2", *_BY_FILE, "-m", _HEAVY, "tests/engine")],
    "queries": [
        _slow("tests/queries/test_cases.py", "tests/queries/test_modes.py"),
        _slow("tests/queries/test_answers.py", "tests/functions"),
        _slow("tests/queries/test_idle.py", "tests/queries/test_tails.py"),
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
    "views": [
        _slow(
            "tests/views/test_views.py",
            "tests/views/test_temporal_joins.py",
            "tests/views/test_tpch.py",
        ),
        _slow("tests/soak/test_view_kills.py", "tests/soak/test_epoch_kills.py"),
    ],
    "views-1": [_random_views(1_000)],
    "views-2": [_random_views(1_150)],
    "views-3": [_random_views(1_300)],
    "views-4": [_random_views(1_450)],
    **{f"graphs-{n}": [_graphs(1_000 + 320 * n)] for n in range(16)},
    "nexmark": [_slow("tests/examples/test_nexmark.py")],
    "flights": [_slow("tests/examples", "--ignore=tests/examples/test_nexmark.py")],
    "pages": [
        _slow("tests/server", "tests/docs", "tests/deploy"),
        _slow("tests/cli", "tests/client", "tests/executor", "tests/jvm"),
    ],
}


def _spread(parts: Sequence[str]) -> list[str]:
    """Parts of a kind, which follow each other in PARTS, far apart."""
    places = {part: number * 0.618034 % 1 for number, part in enumerate(parts)}
    return sorted(parts, key=places.__getitem__)


DAILY = _spread([part for part in PARTS if part != "live"])
"""The parts of a day: `live` measures, and needs a machine to itself."""


def today(now: datetime.date) -> tuple[str, int]:
    """The part of a day, each day the next one, and how often each part had its day before."""
    times, number = divmod(now.toordinal(), len(DAILY))
    return DAILY[number], times


def hard_limit(seconds: int | None) -> int:
    """How long a part may run before it is stopped, which is a failure."""
    return PART_SECONDS if seconds is None else seconds + CUT_SECONDS + END_SECONDS


def run(part: str, seconds: int | None = None, times: int = 0) -> bool:
    """Whether a part passes, each time (`times` before) from another command and test on."""
    print(f"make soak PART={part}", flush=True)
    began = time.time()
    # Each engine starts a JVM of its own, as in production.
    environment = {**os.environ, "STREAMSQL_TEST_NEW_JVM": "1"}
    if seconds is not None:
        environment |= {
            "STREAMSQL_TEST_UNTIL": str(began + seconds),
            "STREAMSQL_TEST_CUT": str(began + seconds + CUT_SECONDS),
            "STREAMSQL_TEST_ROTATION": str(times),
        }
    limit = hard_limit(seconds)
    commands = PARTS[part]
    first = times % len(commands)
    codes = []
    for command in (*commands[first:], *commands[:first]):
        code = _code(command, environment, began + limit - time.time())
        if code is None:
            message = f"{part}: stopped, since it ran longer than its limit of {limit} s"
            print(message, file=sys.stderr, flush=True)
            return False
        codes.append(code)
    result = "failed" if any(codes) else "passed"
    print(f"{part}: {result} in {time.time() - began:.0f} s", flush=True)
    return result == "passed"


def _code(command: Command, environment: Mapping[str, str], seconds: float) -> int | None:
    """The exit code of a command; None: it had to be stopped after this time."""
    with subprocess.Popen([sys.executable, "-m", *command], env=environment) as process:
        try:
            return process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            process.kill()
            return None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="all parts without one")
    parser.add_argument("--today", action="store_true", help="the part of this day")
    parser.add_argument("--list", action="store_true", help="the names of the parts")
    parser.add_argument("--seconds", type=int, help="when no further test of a part begins")
    options = parser.parse_args(arguments)
    if options.list:
        print(*PARTS, sep="\n")
        return 0
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if options.today:
        part, times = today(datetime.datetime.now(datetime.UTC).date())
        return 0 if run(part, options.seconds or DAILY_SECONDS, times) else 1
    failed = [part for part in options.parts or PARTS if not run(part, options.seconds)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
