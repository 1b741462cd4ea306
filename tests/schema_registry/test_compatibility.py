"""Runs tests/cases/registry: blocks of a schema type, the earlier schemas and the new one, each
behind a line `-- earlier` or `-- new`, and why the new one is refused at a level."""

from __future__ import annotations

import pytest
from datadriven import Case, cases, check

from streamsql.registry.embedded.store import Store
from streamsql.registry.records import RegistryError, Schema


def compatibility(case: Case) -> str:
    store = Store()
    earlier, _, new = case.input.partition("-- new\n")
    texts = [text for text in earlier.split("-- earlier\n") if text.strip()]
    try:
        store.set_level(None, "NONE")
        for text in texts:
            store.register("s", Schema(case.directive.upper(), text))
        store.set_level(None, case.args["level"].upper())
        schema = Schema(case.args.get("new", case.directive).upper(), new)
        return "\n".join(store.compatible("s", schema, None)) or "compatible"
    except RegistryError as error:
        return f"{error.code}: {error.message}"


HANDLERS = {"avro": compatibility, "protobuf": compatibility, "json": compatibility}


@pytest.mark.parametrize("case", cases("registry"))
def test_compatibility(case: Case, rewrite: bool) -> None:
    check(case, HANDLERS, rewrite)
