"""Completion without a terminal: text with the cursor as `|`, and what is suggested."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from datadriven import Case, cases, check

from streamsql.api.completion import Names, locate, suggest
from streamsql.api.completion.words import WITH_PROPERTIES
from streamsql.catalog import Catalog
from streamsql.cli.shell.commands import COMMANDS
from streamsql.parser import parse_each
from streamsql.planner.statements import apply, plan
from streamsql.planner.with_clause import properties as with_properties

SCHEMA = """
CREATE TYPE address AS STRUCT<city STRING, zip INT>;
CREATE STREAM pageviews (userid STRING KEY, pageid STRING, viewtime BIGINT, `mixed Case` INT,
    home address) WITH (KAFKA_TOPIC = 'page-views', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE users (userid STRING PRIMARY KEY, region STRING)
    WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE views AS SELECT userid, COUNT(*) AS views FROM pageviews
    WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY userid;
CREATE TABLE accounts (balance INT, id INT PRIMARY KEY);
CREATE VIEW named AS SELECT userid, region FROM users;
CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE PYTHON AS 'x * 2';
"""
NAMES = Names(
    variables={"PAGE": "Page_1"},
    topics=("orders",),
    commands={command.name: command.meaning for command in COMMANDS.values()},
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    made = Catalog()
    for statement in parse_each(SCHEMA):
        assert not isinstance(statement, Exception)
        apply(plan(statement, made, {}), made)
    return made


@pytest.mark.parametrize("case", cases("shell", "completion.txt"))
def test_suggestions(case: Case, catalog: Catalog, rewrite: bool) -> None:
    def complete(case: Case) -> str:
        text, cursor = case.input.replace("|", "", 1), case.input.index("|")
        found = suggest(text, cursor, catalog, NAMES)
        limit = int(case.args.get("first", "1000"))
        shown = list(_lines(found[:limit], "described" in case.args))
        return "\n".join(shown) if shown else "(nothing)"

    check(case, {"complete": complete}, rewrite)


def _lines(found: list, described: bool) -> Iterator[str]:  # type: ignore[type-arg]
    for suggestion in found:
        described_as = f" [{suggestion.kind}] {suggestion.description}".rstrip()
        yield suggestion.text + (described_as if described else "")


def test_a_suggestion_replaces_the_word_at_the_cursor() -> None:
    text = "SELECT us FROM pageviews"
    at = locate(text, len("SELECT us"))
    assert (at.word, at.words) == ("us", ["SELECT"])


def test_every_property_of_with_has_a_description() -> None:
    taken = {name for names in with_properties._TAKEN.values() for name in names}
    unlisted = {"QUERY_ID", "SOURCED_BY_CONNECTOR", "SOURCE_CONNECTOR"}
    assert taken - unlisted == set(WITH_PROPERTIES)
