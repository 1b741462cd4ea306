"""`python -m tests.conformance.rest`: runs the tests of the HTTP interface against a server, and
compares their results with what is known to fail, or writes that file.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.conformance.verdict import Ended, problems, read_known, updated, write_known

from .case import SUITE, load
from .server import open_server
from .suite import COMMAND, KNOWN_FAILURES, run_cases


def main() -> int:
    """0 if all tests ended as known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="SUBSTRING", default="", help="only tests with such an id")
    parser.add_argument("--report", type=Path, help="write a line of JSON for each test")
    parser.add_argument("--rewrite", action="store_true", help="write what is known to fail")
    args = parser.parse_args()
    if not SUITE.is_dir():
        print(f"skipped: there is no conformance suite in {SUITE}")
        return 0
    results = _run(args.k, args.report)
    counts = Counter(result.status for result in results)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    known = read_known(KNOWN_FAILURES)
    if args.rewrite:
        write_known(updated(results, known), KNOWN_FAILURES, COMMAND)
        return 0
    found = problems(results, known)
    ids = {case.id for case in load()}
    found += [f"{id}: is listed as failing, but is no test" for id in sorted(known.keys() - ids)]
    print("\n".join(found) if found else "all as known")
    return 1 if found else 0


def _run(substring: str, report: Path | None) -> list[Ended]:
    results = []
    with (
        tempfile.TemporaryDirectory(prefix="streamsql-rest-") as folder,
        open_server(Path(folder)) as server,
    ):
        for timed in run_cases(load(substring), server):
            ended = timed.ended
            results.append(ended)
            print(f"{ended.status} {timed.seconds:5.1f} s  {ended.id}  {ended.reason or ''}")
            sys.stdout.flush()
            if report is not None:
                with report.open("a", encoding="utf-8") as file:
                    line = {"id": ended.id, "status": ended.status, "reason": ended.reason}
                    print(json.dumps({**line, "seconds": timed.seconds}), file=file)
    return results


if __name__ == "__main__":
    sys.exit(main())
