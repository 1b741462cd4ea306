"""The statements of dbt's models, which are valid: tests/cases/dbt."""

from __future__ import annotations

import json

import pytest
from datadriven import Case, cases, check
from dbt.adapters.streamsql.client import ServerError
from dbt.adapters.streamsql.definitions import definition_of, key_of, quoted

from streamsql.parser import parse


def _definition(case: Case) -> str:
    config, _, body = case.input.partition("\n")
    kind = case.args.get("kind", "stream")
    try:
        made = definition_of(case.directive, "m", body, json.loads(config), kind)
    except ServerError as error:
        return str(error)
    assert parse(made.sql)
    return f"{made.kind} {made.key}\n{made.sql}"


@pytest.mark.parametrize("case", cases("dbt"))
def test_definitions(case: Case, rewrite: bool) -> None:
    handlers = dict.fromkeys(("source", "stream", "table", "view"), _definition)
    check(case, handlers, rewrite)


@pytest.mark.parametrize("key", ["ORDERS", "Orders", "a`b"])
def test_a_quoted_name_is_the_one_of_the_catalog(key: str) -> None:
    assert key_of(quoted(key)) == key
    assert key_of("orders") == "ORDERS"
