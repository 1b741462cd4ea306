"""`python -m tests.conformance REPORT [--suite FOLDER] [--rewrite]`: compares the report of a whole
run of the conformance suite with what is known to fail, or writes that file.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from streamsql.testing.cases.load import load
from tests.conformance.verdict import (
    SUITE,
    problems,
    read_known,
    read_report,
    updated,
    write_known,
)


def main() -> int:
    """0 if all tests ended as known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--suite", type=Path, default=SUITE, help="what was run")
    parser.add_argument("--rewrite", action="store_true", help="write what is known to fail")
    args = parser.parse_args()
    results, known = read_report(args.report), read_known()
    counts = Counter(result.status for result in results)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    if args.rewrite:
        write_known(updated(results, known))
        return 0
    found = problems(results, known)
    reported = {result.id for result in results}
    suite = {case.id for case in load([args.suite])}
    found += [f"{id}: was not run" for id in sorted(suite - reported)]
    found += [f"{id}: is listed as failing, but is no test" for id in sorted(known.keys() - suite)]
    print("\n".join(found) if found else "all as known")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
