"""Runs dbt in an environment of its own: each line of the input is a JSON list of arguments,
and each line of the output what came of them, as JSON."""

import contextlib
import json
import sys

from dbt.cli.main import dbtRunner

runner = dbtRunner()
for line in sys.stdin:
    # What it logs is for people.
    with contextlib.redirect_stdout(sys.stderr):
        done = runner.invoke(json.loads(line))
    found = {"success": done.success, "exception": str(done.exception or ""), "results": {}}
    for each in getattr(done.result, "results", None) or []:
        said = {"status": str(each.status), "message": each.message, "failures": each.failures}
        found["results"][each.node.name] = said
    print(json.dumps(found), flush=True)
